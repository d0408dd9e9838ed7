#include "replay/whatif/price.h"
