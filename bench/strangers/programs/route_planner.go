package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

const depotCount = 1200

type plan struct {
	depots int
	cost   uint64
}

type network struct {
	position []uint64
}

func whirl(x uint64) uint64 {
	x ^= x >> 29
	x *= 0x94d049bb133111eb
	x ^= x >> 32
	return x
}

func buildNetwork() *network {
	net := &network{position: make([]uint64, depotCount)}
	state := uint64(42)
	for i := range net.position {
		state = whirl(state + uint64(i))
		net.position[i] = state >> 44
	}
	return net
}

func (n *network) planDepot(depot int) uint64 {
	cost := uint64(depot)
	for a := 0; a < depot; a++ {
		for b := 0; b < a; b++ {
			cost = whirl(cost + n.position[a]*n.position[b])
		}
	}
	return cost
}

func (n *network) planRange(from, to int) plan {
	var p plan
	for depot := from; depot < to; depot++ {
		p.cost += n.planDepot(depot)
		p.depots++
	}
	return p
}

func main() {
	planners := 1
	if len(os.Args) > 1 {
		if v, err := strconv.Atoi(os.Args[1]); err == nil && v > 0 {
			planners = v
		}
	}
	runtime.GOMAXPROCS(planners)

	net := buildNetwork()
	plans := make([]plan, planners)
	var wg sync.WaitGroup
	for p := 0; p < planners; p++ {
		wg.Add(1)
		go func(id int) {
			defer wg.Done()
			from := depotCount * id / planners
			to := depotCount * (id + 1) / planners
			plans[id] = net.planRange(from, to)
		}(p)
	}
	wg.Wait()

	var total plan
	for _, p := range plans {
		total.depots += p.depots
		total.cost += p.cost
	}
	fmt.Printf("depots %d cost %x\n", total.depots, total.cost)
}
