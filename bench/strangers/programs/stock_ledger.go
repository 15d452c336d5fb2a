package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

const (
	movementCount  = 4000
	warehouseBins  = 512
	revaluePasses  = 100
	documentFields = 5000
)

type movement struct {
	sku      uint64
	quantity uint64
}

type stockLedger struct {
	mu       sync.Mutex
	bins     [warehouseBins]uint64
	revision uint64
	value    uint64
}

func scramble(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 29
	return x
}

func readMovement(number int) movement {
	acc := uint64(number) + 17
	for field := 0; field < documentFields; field++ {
		acc = scramble(acc + uint64(field))
	}
	return movement{sku: acc % warehouseBins, quantity: acc>>48 + 1}
}

func (l *stockLedger) revalue(seed uint64) uint64 {
	total := seed
	for pass := 0; pass < revaluePasses; pass++ {
		for i := range l.bins {
			total = scramble(total + l.bins[i])
		}
	}
	return total
}

func (l *stockLedger) apply(m movement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bins[m.sku] += m.quantity
	l.value = l.revalue(m.quantity)
	l.revision++
}

func clerk(first, step int, ledger *stockLedger, wg *sync.WaitGroup) {
	defer wg.Done()
	for number := first; number < movementCount; number += step {
		ledger.apply(readMovement(number))
	}
}

func main() {
	clerks := 1
	if len(os.Args) > 1 {
		if v, err := strconv.Atoi(os.Args[1]); err == nil && v > 0 {
			clerks = v
		}
	}
	runtime.GOMAXPROCS(clerks)

	ledger := &stockLedger{}
	var wg sync.WaitGroup
	for c := 0; c < clerks; c++ {
		wg.Add(1)
		go clerk(c, clerks, ledger, &wg)
	}
	wg.Wait()
	fmt.Printf("ledger revision %d value %x\n", ledger.revision, ledger.value)
}
