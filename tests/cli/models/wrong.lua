model { hiden = 64, intermediate = 60, experts = 4, top_k = "two" }
topology { gpu = "H900", gpus = 0 }
