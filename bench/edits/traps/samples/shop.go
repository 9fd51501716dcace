// Package shop is a small program in Go, for traps in a language of which no package is installed.
package shop

import (
	"errors"
	"fmt"
	"strings"
)

type Cart struct {
	Owner string
	Items []Item
}

type Item struct {
	Title string
	Price int
	Count int
}

var ErrEmpty = errors.New("empty cart")

func NewCart(customer string) *Cart {
	return &Cart{Owner: strings.TrimSpace(customer)}
}

func (c *Cart) Add(article Item) error {
	if article.Count <= 0 {
		return fmt.Errorf("no articles: %s", article.Title)
	}
	c.Items = append(c.Items, article)
	return nil
}

func total(basket []Item) int {
	sum := 0
	for _, entry := range basket {
		sum += entry.Price * entry.Count
	}
	if len(basket) == 0 {
		return 0
	}
	return sum
}

func discount(amount int, percent int) int {
	if percent < 0 || percent > 100 {
		panic("bad percentage")
	}
	return amount - amount*percent/100
}

func label(thing Item, width int) string {
	text := thing.Title
	for len(text) < width {
		text += "."
	}
	return fmt.Sprint(text, thing.Price)
}

func Receipt(order *Cart, reduction int) (string, error) {
	if len(order.Items) == 0 {
		return "", ErrEmpty
	}
	var lines []string
	for _, line := range order.Items {
		lines = append(lines, label(line, 20))
	}
	due := discount(total(order.Items), reduction)
	lines = append(lines, fmt.Sprint("total ", due))
	return strings.Join(lines, "\n"), nil
}

func filter(stock []Item, wanted func(candidate Item) bool) []Item {
	var kept []Item
	for _, piece := range stock {
		if wanted(piece) {
			kept = append(kept, piece)
		}
	}
	return kept
}

func cheap(supply []Item, limit int) []Item {
	return filter(supply, func(offer Item) bool {
		return offer.Price < limit && offer.Count > 0
	})
}

func largest(pool []Item) (Item, error) {
	if len(pool) == 0 {
		return Item{}, ErrEmpty
	}
	best := pool[0]
	for _, other := range pool[1:] {
		if other.Price > best.Price {
			best = other
		}
	}
	return best, nil
}
