#!/bin/bash
# The instant agent, with the time of its first and its last instruction. Without a fork before the first.
first=$EPOCHREALTIME
/opt/agents/bin/cofferdam-instant "$@"
code=$?
echo "{\"type\":\"did\",\"command\":\"clock\",\"output\":\"first $first last $EPOCHREALTIME\"}"
exit $code
