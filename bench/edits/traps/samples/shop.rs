//! A small program in Rust, for traps in a language of which no package is installed.

use std::collections::HashMap;
use std::fmt;

#[derive(Clone, Debug)]
pub struct Item {
    pub title: String,
    pub price: u64,
    pub count: u64,
}

pub struct Cart {
    owner: String,
    items: Vec<Item>,
}

impl Cart {
    pub fn new(customer: &str) -> Self {
        let name = customer.trim().to_string();
        Cart { owner: name, items: Vec::new() }
    }

    pub fn add(&mut self, article: Item) -> Result<(), String> {
        if article.count == 0 {
            return Err(format!("no articles of {}", self.owner));
        }
        self.items.push(article);
        Ok(())
    }

    pub fn find(&self, wanted: &str) -> Option<&Item> {
        self.items.iter().find(|candidate| candidate.title == wanted)
    }
}

fn total(basket: &[Item]) -> u64 {
    let mut sum = 0;
    for entry in basket {
        sum += entry.price * entry.count;
    }
    if basket.is_empty() {
        return 0;
    }
    sum
}

fn discount(amount: u64, percent: u64) -> u64 {
    assert!(percent <= 100, "bad percentage");
    let less = amount * percent / 100;
    amount - less
}

fn label(thing: &Item, width: usize) -> String {
    let text = thing.title.clone();
    let text = text + &".".repeat(width.saturating_sub(thing.title.len()));
    text + &thing.price.to_string()
}

pub fn receipt(order: &Cart, reduction: u64) -> Result<String, fmt::Error> {
    if order.items.is_empty() {
        return Err(fmt::Error);
    }
    let mut lines: Vec<String> = order.items.iter().map(|line| label(line, 20)).collect();
    let due = discount(total(&order.items), reduction);
    lines.push(due.to_string());
    Ok(lines.join("\n"))
}

fn grouped(stock: &[Item], limit: u64) -> HashMap<u64, Vec<Item>> {
    let mut groups: HashMap<u64, Vec<Item>> = HashMap::new();
    for piece in stock {
        if piece.price < limit {
            groups.entry(piece.price).or_default().push(piece.clone());
        }
    }
    if total(stock) > limit {
        groups.clear();
    }
    groups
}

fn cheapest(pool: &[Item], least: u64) -> Option<u64> {
    let prices = pool.iter().map(|offer| discount(offer.price, 10));
    let found = prices.filter(|price| *price >= least).min();
    match found {
        Some(value) => Some(value + least),
        None => pool.first().map(|first| first.price),
    }
}

fn parsed(source: &str, separator: char) -> Vec<Item> {
    let mut made = Vec::new();
    for row in source.lines() {
        if let Some((title, rest)) = row.split_once(separator) {
            let price = rest.parse().unwrap_or(0);
            made.push(Item { title: title.to_string(), price, count: 1 });
        }
    }
    assert!(made.len() <= source.len());
    made
}
