local kimi = require "kimi-k3"
--| require_unknown.lua:1: error: no preset 'kimi-k3', and kimi-k3.lua does not exist
--|   local kimi = require "kimi-k3"
--| hint: did you mean 'kimi-k2'?
