#include "replay/simulate/simulate.h"
