// fxcache - settles foreign invoices at the cross rates of the day.
//
// Cross rates are derived on demand and kept in a cache that all settlement
// workers share.
//
// usage: fxcache THREADS
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

const (
	currencies = 24
	invoices   = 300000
	batchSize  = 500
	linesEach  = 12
	auditSteps = 80
	shardCount = 16
)

type pair struct {
	from, to uint8
}

type rateShard struct {
	mu    sync.RWMutex
	rates map[pair]int64
	_     [64]byte
}

type rateCache struct {
	shards [shardCount]rateShard
	quotes [currencies]int64
}

type ledger struct {
	invoices int
	settled  int64
	audit    uint64
}

func hash64(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}

func newRateCache() *rateCache {
	c := &rateCache{}
	for i := range c.shards {
		c.shards[i].rates = make(map[pair]int64)
	}
	for i := range c.quotes {
		c.quotes[i] = 500000 + int64(hash64(uint64(i)+5)%4000000)
	}
	return c
}

// derive computes the cross rate, in millionths, through the base currency.
func (c *rateCache) derive(p pair) int64 {
	rate := c.quotes[p.from] * 1000000 / c.quotes[p.to]
	spread := int64(hash64(uint64(p.from)<<8|uint64(p.to)) % 200)
	return rate - rate*spread/100000
}

func (c *rateCache) rate(p pair) int64 {
	s := &c.shards[(int(p.from)*7+int(p.to))%shardCount]
	s.mu.RLock()
	r, ok := s.rates[p]
	s.mu.RUnlock()
	if ok {
		return r
	}
	r = c.derive(p)
	s.mu.Lock()
	s.rates[p] = r
	s.mu.Unlock()
	return r
}

func (c *rateCache) size() int {
	n := 0
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.RLock()
		n += len(s.rates)
		s.mu.RUnlock()
	}
	return n
}

// lineAmount checks and values one invoice line, in minor units.
func lineAmount(invoice uint64, line int) (int64, uint64) {
	h := hash64(invoice*linesEach + uint64(line))
	amount := 100 + int64(h%250000)
	audit := h
	for i := 0; i < auditSteps; i++ {
		audit = (audit ^ uint64(i)) * 0x9e3779b97f4a7c15
		audit ^= audit >> 31
	}
	return amount, audit
}

func (l *ledger) settle(c *rateCache, invoice uint64) {
	h := hash64(invoice ^ 0x5bd1e995)
	p := pair{from: uint8(h % currencies), to: uint8((h >> 16) % currencies)}
	rate := c.rate(p)
	var sum int64
	for line := 0; line < linesEach; line++ {
		amount, audit := lineAmount(invoice, line)
		sum += amount
		l.audit += audit & 0xffff
	}
	l.settled += sum * rate / 1000000
	l.invoices++
}

func settleBatches(c *rateCache, next *int64) ledger {
	var l ledger
	for {
		end := atomic.AddInt64(next, batchSize)
		first := end - batchSize
		if first >= invoices {
			return l
		}
		if end > invoices {
			end = invoices
		}
		for i := first; i < end; i++ {
			l.settle(c, uint64(i))
		}
	}
}

func main() {
	threads := 1
	if len(os.Args) > 1 {
		if n, err := strconv.Atoi(os.Args[1]); err == nil && n > 0 {
			threads = n
		}
	}
	cache := newRateCache()
	results := make(chan ledger, threads)
	var next int64
	for i := 0; i < threads; i++ {
		go func() {
			results <- settleBatches(cache, &next)
		}()
	}
	var total ledger
	for i := 0; i < threads; i++ {
		l := <-results
		total.invoices += l.invoices
		total.settled += l.settled
		total.audit += l.audit
	}
	fmt.Printf("invoices %d pairs %d settled %d audit %d\n",
		total.invoices, cache.size(), total.settled, total.audit)
}
