// billing - rates the usage records of the tenants of a compute cloud.
//
// All records of a tenant are rated by the same worker, because the price
// tiers depend on what the tenant has used so far.
//
// usage: billing THREADS
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

const (
	tenantCount = 500
	recordCount = 500000
	meterSlots  = 600
)

type record struct {
	tenant  uint16
	machine uint8
	hour    uint8
	seed    uint32
}

type invoice struct {
	used    uint64
	cents   uint64
	records int
}

type rater struct {
	prices   [24]uint64
	invoices map[uint16]*invoice
}

func nextRand(s *uint32) uint32 {
	x := *s
	x ^= x << 13
	x ^= x >> 17
	x ^= x << 5
	*s = x
	return x
}

// loadRecords produces one day of metering records.
func loadRecords() []record {
	records := make([]record, recordCount)
	seed := uint32(0x7a3c91e5)
	for i := range records {
		h := nextRand(&seed)
		tenant := uint16(1 + h%(tenantCount-1))
		if (h>>12)%100 < 82 {
			tenant = 7 // the reseller
		}
		records[i] = record{
			tenant:  tenant,
			machine: uint8((h >> 20) & 7),
			hour:    uint8(i * 24 / recordCount),
			seed:    h ^ uint32(i),
		}
	}
	return records
}

func tenantName(t uint16) string {
	return "tenant-" + strconv.Itoa(int(t))
}

// homeOf selects the worker that is in charge of a tenant.
func homeOf(name string, workers int) int {
	h := uint32(2166136261)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int(h % uint32(workers))
}

func distribute(records []record, workers int) [][]record {
	home := make([]int, tenantCount+1)
	for t := range home {
		home[t] = homeOf(tenantName(uint16(t)), workers)
	}
	sizes := make([]int, workers)
	for i := range records {
		sizes[home[records[i].tenant]]++
	}
	parts := make([][]record, workers)
	for w := range parts {
		parts[w] = make([]record, 0, sizes[w])
	}
	for _, r := range records {
		w := home[r.tenant]
		parts[w] = append(parts[w], r)
	}
	return parts
}

func newRater() *rater {
	r := &rater{invoices: make(map[uint16]*invoice)}
	for h := range r.prices {
		r.prices[h] = 40 + uint64(h%12)*3
	}
	return r
}

// meter integrates the load of a machine over the slots of one record.
func meter(rec record) uint64 {
	load := uint64(rec.seed) | 1
	var used uint64
	for s := 0; s < meterSlots; s++ {
		load = (load ^ uint64(s)) * 0x9e3779b97f4a7c15
		load ^= load >> 29
		used += (load & 0xff) * uint64(rec.machine+1)
	}
	return used
}

func tierPercent(used uint64) uint64 {
	switch {
	case used > 4000000000:
		return 70
	case used > 400000000:
		return 85
	default:
		return 100
	}
}

func (r *rater) rate(rec record) {
	inv := r.invoices[rec.tenant]
	if inv == nil {
		inv = &invoice{}
		r.invoices[rec.tenant] = inv
	}
	used := meter(rec)
	inv.cents += used * r.prices[rec.hour] * tierPercent(inv.used) / 100000
	inv.used += used
	inv.records++
}

func main() {
	threads := 1
	if len(os.Args) > 1 {
		if n, err := strconv.Atoi(os.Args[1]); err == nil && n > 0 {
			threads = n
		}
	}
	parts := distribute(loadRecords(), threads)
	raters := make([]*rater, threads)
	var done sync.WaitGroup
	for w := 0; w < threads; w++ {
		raters[w] = newRater()
		done.Add(1)
		go func(r *rater, part []record) {
			defer done.Done()
			for _, rec := range part {
				r.rate(rec)
			}
		}(raters[w], parts[w])
	}
	done.Wait()

	var total invoice
	tenants := 0
	var largest uint64
	for _, r := range raters {
		for _, inv := range r.invoices {
			tenants++
			total.used += inv.used
			total.cents += inv.cents
			total.records += inv.records
			if inv.cents > largest {
				largest = inv.cents
			}
		}
	}
	fmt.Printf("tenants %d records %d used %d cents %d largest %d\n",
		tenants, total.records, total.used, total.cents, largest)
}
