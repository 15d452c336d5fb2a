package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	truckCount   = 1000
	loadSteps    = 200000
	paperSteps   = 40000
	checkSpacing = 100 * time.Microsecond
)

type dock struct {
	serving atomic.Int64
	cargo   uint64
}

func stack(x uint64) uint64 {
	x ^= x >> 31
	x *= 0x9fb21c651e98df25
	x ^= x >> 28
	return x
}

func (d *dock) loadTruck(truck int64) uint64 {
	cargo := d.cargo + uint64(truck)
	for s := 0; s < loadSteps; s++ {
		cargo = stack(cargo + uint64(s))
	}
	d.cargo = cargo
	return cargo
}

func (d *dock) awaitSlot(truck int64) {
	for d.serving.Load() != truck {
		time.Sleep(checkSpacing)
	}
}

func fileManifest(cargo uint64) uint64 {
	for s := 0; s < paperSteps; s++ {
		cargo = stack(cargo ^ uint64(s))
	}
	return cargo
}

func driveFleet(d *dock, first, step int64) uint64 {
	var papers uint64
	for truck := first; truck < truckCount; truck += step {
		d.awaitSlot(truck)
		cargo := d.loadTruck(truck)
		d.serving.Store(truck + 1)
		papers += fileManifest(cargo)
	}
	return papers
}

func main() {
	fleets := 1
	if len(os.Args) > 1 {
		if v, err := strconv.Atoi(os.Args[1]); err == nil && v > 0 {
			fleets = v
		}
	}
	runtime.GOMAXPROCS(fleets)

	var harbor dock
	var papers atomic.Uint64
	var wg sync.WaitGroup
	for f := 0; f < fleets; f++ {
		wg.Add(1)
		go func(id int64) {
			defer wg.Done()
			papers.Add(driveFleet(&harbor, id, int64(fleets)))
		}(int64(f))
	}
	wg.Wait()
	fmt.Printf("trucks %d papers %x\n", harbor.serving.Load(), papers.Load())
}
