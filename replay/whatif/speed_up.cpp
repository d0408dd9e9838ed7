#include "replay/whatif/speed_up.h"
