local x = nil + 1
