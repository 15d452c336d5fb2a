package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

const (
	seasonCount    = 20
	regionCount    = 64
	smoothingSteps = 83000
	balanceSteps   = 125000
)

type taskGroup struct {
	wg   sync.WaitGroup
	once sync.Once
	err  error
}

func (g *taskGroup) Go(task func() error) {
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		if err := task(); err != nil {
			g.once.Do(func() { g.err = err })
		}
	}()
}

func (g *taskGroup) Wait() error {
	g.wg.Wait()
	return g.err
}

type region struct {
	demand uint64
	stock  uint64
}

var errNoRegions = errors.New("planner without regions")

func turn(x uint64) uint64 {
	x ^= x >> 28
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}

func smoothRegions(regions []region, season int) error {
	if len(regions) == 0 {
		return errNoRegions
	}
	for r := range regions {
		level := regions[r].demand + uint64(season)
		for s := 0; s < smoothingSteps; s++ {
			level = turn(level + uint64(s))
		}
		regions[r].demand = level
	}
	return nil
}

func balanceStock(regions []region, surplus uint64) uint64 {
	for r := range regions {
		flow := surplus + regions[r].demand
		for s := 0; s < balanceSteps; s++ {
			flow = turn(flow + uint64(s))
		}
		regions[r].stock = flow
		surplus = flow
	}
	return surplus
}

func main() {
	planners := 1
	if len(os.Args) > 1 {
		if v, err := strconv.Atoi(os.Args[1]); err == nil && v > 0 {
			planners = v
		}
	}
	runtime.GOMAXPROCS(planners)

	regions := make([]region, regionCount)
	var surplus uint64 = 7
	for season := 0; season < seasonCount; season++ {
		var group taskGroup
		for p := 0; p < planners; p++ {
			part := regions[regionCount*p/planners : regionCount*(p+1)/planners]
			year := season
			group.Go(func() error { return smoothRegions(part, year) })
		}
		if err := group.Wait(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		surplus = balanceStock(regions, surplus)
	}
	fmt.Printf("seasons %d surplus %x\n", seasonCount, surplus)
}
