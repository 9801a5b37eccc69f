return require "beside_cycle"
