// An index of documents: which words stand in how many, and how often.
//
//	index guilty|clean
//
// The guilty one has one index behind a mutex, which a worker has while it goes through a document. In the clean one each worker has a
// shard of its own, and the shards are put together at the end.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
)

const (
	documents = 60_000
	length    = 500
	stems     = 4_000
)

type posting struct {
	documents int
	times     int
	last      int
}

type index struct {
	mu    sync.Mutex
	words map[string]*posting
}

func newIndex() *index {
	return &index{words: map[string]*posting{}}
}

// text makes the document of this number, so that no disk is needed.
func text(into []byte, number int) []byte {
	state := uint64(number)*0x9E3779B97F4A7C15 | 1
	for i := 0; i < length; i++ {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		into = append(into, "Word"...)
		into = strconv.AppendUint(into, state%stems, 10)
		into = append(into, ", "...)
	}
	return into
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func (x *index) enter(number int, word []byte) {
	at := x.words[string(word)]
	if at == nil {
		at = &posting{last: -1}
		x.words[string(word)] = at
	}
	if at.last != number {
		at.documents++
		at.last = number
	}
	at.times++
}

// add enters the words of a document.
func (x *index) add(number int, document []byte) {
	var word [64]byte
	used := 0
	for _, b := range document {
		if b != ' ' && b != ',' {
			word[used] = lower(b)
			used++
		} else if used > 0 {
			x.enter(number, word[:used])
			used = 0
		}
	}
}

func (x *index) addLocked(number int, document []byte) {
	x.mu.Lock() // GUILTY
	defer x.mu.Unlock()
	x.add(number, document)
}

// merge puts the words of another index into this one.
func (x *index) merge(other *index) {
	for word, more := range other.words {
		if at := x.words[word]; at != nil {
			at.documents += more.documents
			at.times += more.times
		} else {
			x.words[word] = more
		}
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: index guilty|clean")
		os.Exit(2)
	}
	workers := runtime.GOMAXPROCS(0)
	all, shards := newIndex(), make([]*index, workers)
	var done sync.WaitGroup
	for w := 0; w < workers; w++ {
		w := w // Go before 1.22 has one for all rounds
		shards[w] = newIndex()
		add := shards[w].add
		if os.Args[1] == "guilty" {
			add = all.addLocked
		}
		done.Add(1)
		go func() {
			defer done.Done()
			var document []byte
			for number := w; number < documents; number += workers {
				document = text(document[:0], number)
				add(number, document)
			}
		}()
	}
	done.Wait()
	for _, shard := range shards {
		all.merge(shard)
	}
	times := 0
	for _, at := range all.words {
		times += at.times
	}
	fmt.Println(len(all.words), "words,", times, "places")
}
