package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

const (
	eventTotal  = 300000
	symbolCount = 32
	windowSize  = 1024
)

type quote struct {
	window [windowSize]uint64
	mid    uint64
	ticks  uint64
}

type quoteBoard struct {
	mu     sync.RWMutex
	quotes map[uint32]*quote
}

func newQuoteBoard() *quoteBoard {
	return &quoteBoard{quotes: make(map[uint32]*quote, symbolCount)}
}

func fold(x uint64) uint64 {
	x ^= x >> 31
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 27
	return x
}

func (b *quoteBoard) publish(symbol uint32, price uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q, ok := b.quotes[symbol]
	if !ok {
		q = new(quote)
		b.quotes[symbol] = q
	}
	carry := price
	for i := range q.window {
		carry = fold(carry + q.window[i])
		q.window[i] = carry
	}
	q.mid = carry
	q.ticks++
}

func (b *quoteBoard) lookup(symbol uint32) uint64 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if q, ok := b.quotes[symbol]; ok {
		return q.mid ^ q.ticks
	}
	return 0
}

func runFeed(board *quoteBoard, seed uint64, events int) uint64 {
	var seen uint64
	state := seed
	for e := 0; e < events; e++ {
		state = fold(state + 0x2545f4914f6cdd1d)
		symbol := uint32(state>>8) % symbolCount
		if state%10 < 7 {
			board.publish(symbol, state>>20)
		} else {
			seen += board.lookup(symbol)
		}
	}
	return seen
}

func main() {
	feeds := 1
	if len(os.Args) > 1 {
		if v, err := strconv.Atoi(os.Args[1]); err == nil && v > 0 {
			feeds = v
		}
	}
	runtime.GOMAXPROCS(feeds)

	board := newQuoteBoard()
	seen := make([]uint64, feeds)
	var wg sync.WaitGroup
	for f := 0; f < feeds; f++ {
		share := eventTotal*(f+1)/feeds - eventTotal*f/feeds
		wg.Add(1)
		go func(id, events int) {
			defer wg.Done()
			seen[id] = runFeed(board, uint64(id)+99, events)
		}(f, share)
	}
	wg.Wait()

	var ticks, sum uint64
	for _, q := range board.quotes {
		ticks += q.ticks
	}
	for _, s := range seen {
		sum += s
	}
	fmt.Printf("quotes %d ticks %d seen %x\n", len(board.quotes), ticks, sum)
}
