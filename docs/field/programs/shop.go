// A stock service: every request takes the one mutex, and queries a slow store while it holds it.
//
//	go build -o shop docs/field/programs/shop.go && ./shop 8091
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

var mu sync.Mutex
var stock = map[string]int{}

func reserve(item string) int {
	mu.Lock()
	defer mu.Unlock()
	time.Sleep(2 * time.Millisecond)
	stock[item]++
	return stock[item]
}

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%d\n", reserve(r.URL.Path))
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Args[1], nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
