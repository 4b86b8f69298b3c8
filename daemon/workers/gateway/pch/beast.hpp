#include "workers/gateway/beast.hpp"
