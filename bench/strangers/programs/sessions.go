// Session store of a small web service, driven by a recorded request mix.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

const requests = 30_000_000

type session struct {
	user   uint32
	hits   int
	last   int64
	basket [8]uint32
}

// Store holds the sessions by token.
type Store struct {
	mu       sync.RWMutex
	sessions map[uint32]*session
	created  int
}

func newStore() *Store {
	return &Store{sessions: make(map[uint32]*session)}
}

// Touch notes a request of the session, which is created if need be.
func (s *Store) Touch(token uint32, now int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.sessions[token]
	if !ok {
		e = &session{user: token * 2654435761}
		s.sessions[token] = e
		s.created++
	}
	e.hits++
	e.last = now
	return e.hits
}

// Put lays an article into the basket.
func (s *Store) Put(token uint32, article uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.sessions[token]; ok {
		e.basket[article%8] = article
	}
}

// Size counts the articles in the basket.
func (s *Store) Size(token uint32) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	if e, ok := s.sessions[token]; ok {
		for _, a := range e.basket {
			if a != 0 {
				n++
			}
		}
	}
	return n
}

func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.sessions)
}

type client struct {
	state uint32
	seen  int
}

func (c *client) next() uint32 {
	c.state ^= c.state << 13
	c.state ^= c.state >> 17
	c.state ^= c.state << 5
	return c.state
}

func (c *client) run(s *Store, n int) {
	for i := 0; i < n; i++ {
		r := c.next()
		token := r % 5000
		switch (r >> 20) % 6 {
		case 0:
			c.seen += s.Size(token)
		case 1, 2:
			s.Put(token, r>>8|1)
		default:
			s.Touch(token, int64(i))
		}
	}
}

func main() {
	workers, err := strconv.Atoi(os.Args[1])
	if err != nil || workers < 1 {
		fmt.Fprintln(os.Stderr, "usage: sessions WORKERS")
		os.Exit(2)
	}
	store := newStore()
	clients := make([]*client, workers)
	var wg sync.WaitGroup
	for w := range clients {
		c := &client{state: uint32(w)*7919 + 12345}
		clients[w] = c
		wg.Add(1)
		go func() {
			defer wg.Done()
			c.run(store, requests/workers)
		}()
	}
	wg.Wait()
	fmt.Println("sessions", store.Len(), "created", store.created)
}
