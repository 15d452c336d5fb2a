// A stock service of a warehouse: each request reserves one piece of the next item that is asked for most.
//
//	stock guilty|clean PORT
//
// Every reservation is written to a ledger before it is confirmed, which takes one to two milliseconds. The guilty one writes with the
// stock in hand, so that reservations queue; the clean one writes first, and has the stock for a moment only.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A ledger stands for a store elsewhere: its writes take time and no processor.
type ledger struct {
	entries atomic.Int64
}

func (l *ledger) write(item string) int64 {
	time.Sleep(time.Millisecond + time.Duration(rand.Intn(1000))*time.Microsecond)
	return l.entries.Add(1)
}

type stock struct {
	mu     sync.Mutex
	pieces map[string]int
	ledger ledger
	first  bool
}

type receipt struct {
	Item  string `json:"item"`
	Left  int    `json:"left"`
	Entry int64  `json:"entry"`
}

func newStock(items int, first bool) *stock {
	s := &stock{pieces: map[string]int{}, first: first}
	for i := 0; i < items; i++ {
		s.pieces[name(i)] = 1_000_000
	}
	return s
}

func name(i int) string {
	return fmt.Sprintf("item-%04d", i)
}

// reserve takes a piece of an item, and writes who has it.
func (s *stock) reserve(item string) (receipt, error) {
	if s.first {
		return s.take(item, s.ledger.write(item))
	}
	s.mu.Lock() // GUILTY
	defer s.mu.Unlock()
	return s.remove(item, s.ledger.write(item))
}

// take is for callers that have written already.
func (s *stock) take(item string, entry int64) (receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(item, entry)
}

func (s *stock) remove(item string, entry int64) (receipt, error) {
	left, known := s.pieces[item]
	if !known || left == 0 {
		return receipt{}, fmt.Errorf("no %s left", item)
	}
	s.pieces[item] = left - 1
	return receipt{item, left - 1, entry}, nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: stock guilty|clean PORT")
		os.Exit(2)
	}
	const items = 500
	shelf := newStock(items, os.Args[1] == "clean")
	var asked atomic.Int64
	http.HandleFunc("/reserve", func(w http.ResponseWriter, r *http.Request) {
		given, err := shelf.reserve(name(int(asked.Add(7)) % items))
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(given)
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Args[2], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
