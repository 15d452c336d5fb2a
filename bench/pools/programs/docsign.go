package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	documentCount = 640
	documentSize  = 128 << 10
	signLatency   = 3 * time.Millisecond
)

// session is one logged-in slot on the signing appliance.
type session struct {
	id  int
	key []byte
}

func (s *session) sign(doc []byte) []byte {
	digest := sha256.Sum256(doc)
	mac := hmac.New(sha256.New, s.key)
	mac.Write(digest[:])
	signature := mac.Sum(nil)
	time.Sleep(signLatency)
	return signature
}

func (s *session) verify(doc, signature []byte) bool {
	digest := sha256.Sum256(doc)
	mac := hmac.New(sha256.New, s.key)
	mac.Write(digest[:])
	return hmac.Equal(mac.Sum(nil), signature)
}

type appliance struct {
	sessions chan *session
}

func openAppliance(seats int) *appliance {
	key := sha256.Sum256([]byte("docsign appliance key"))
	a := &appliance{sessions: make(chan *session, seats)}
	for i := 0; i < seats; i++ {
		a.sessions <- &session{id: i, key: key[:]}
	}
	return a
}

func (a *appliance) login() *session {
	return <-a.sessions
}

func (a *appliance) logout(s *session) {
	a.sessions <- s
}

type signer struct {
	hsm    *appliance
	next   atomic.Int64
	signed atomic.Int64
	failed atomic.Int64
}

func renderDocument(buf *bytes.Buffer, number int64) {
	buf.Reset()
	var field [16]byte
	for line := uint64(0); buf.Len() < documentSize; line++ {
		binary.LittleEndian.PutUint64(field[:8], uint64(number))
		binary.LittleEndian.PutUint64(field[8:], line*2654435761)
		buf.WriteString("invoice line ")
		buf.Write(field[:])
		buf.WriteByte('\n')
	}
}

func (s *signer) signDocument(doc []byte) bool {
	sess := s.hsm.login()
	defer s.hsm.logout(sess)
	signature := sess.sign(doc)
	return sess.verify(doc, signature)
}

func (s *signer) run() {
	var buf bytes.Buffer
	for {
		number := s.next.Add(1) - 1
		if number >= documentCount {
			return
		}
		renderDocument(&buf, number)
		if s.signDocument(buf.Bytes()) {
			s.signed.Add(1)
		} else {
			s.failed.Add(1)
		}
	}
}

func argument(index, fallback int) int {
	if len(os.Args) <= index {
		return fallback
	}
	value, err := strconv.Atoi(os.Args[index])
	if err != nil || value < 1 {
		fmt.Fprintf(os.Stderr, "usage: %s workers [seats]\n", os.Args[0])
		os.Exit(2)
	}
	return value
}

func main() {
	workers := argument(1, 2)
	seats := argument(2, 5)

	s := &signer{hsm: openAppliance(seats)}
	start := time.Now()
	var wg sync.WaitGroup
	for i := 0; i < workers; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s.run()
		}()
	}
	wg.Wait()
	elapsed := time.Since(start).Seconds()

	fmt.Printf("signed %d documents, %d failed\n", s.signed.Load(), s.failed.Load())
	fmt.Printf("%.1f documents/s\n", documentCount/elapsed)
}
