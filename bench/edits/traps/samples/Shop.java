package shop;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** A small program in Java, for traps in a language of which no package is installed. */
public class Shop {
    private final String owner;
    private final List<Item> items = new ArrayList<>();

    public Shop(String customer) {
        this.owner = customer.trim();
    }

    public void add(Item article) {
        if (article.count <= 0) {
            throw new IllegalArgumentException("no articles: " + article.title);
        }
        items.add(article);
    }

    static int total(List<Item> basket) {
        int sum = 0;
        for (Item entry : basket) {
            sum += entry.price * entry.count;
        }
        if (basket.isEmpty()) {
            return 0;
        }
        return sum;
    }

    static int discount(int amount, int percent) {
        if (percent < 0 || percent > 100) {
            throw new IllegalArgumentException("bad percentage");
        }
        return amount - amount * percent / 100;
    }

    static String label(Item thing, int width) {
        StringBuilder text = new StringBuilder(thing.title);
        while (text.length() < width) {
            text.append('.');
        }
        return text.append(thing.price).toString();
    }

    public String receipt(int reduction) {
        List<String> lines = new ArrayList<>();
        for (Item line : items) {
            lines.add(label(line, 20));
        }
        int due = discount(total(items), reduction);
        lines.add(owner + " " + due);
        return String.join("\n", lines);
    }

    static List<Item> filter(List<Item> stock, Predicate<Item> wanted) {
        List<Item> kept = new ArrayList<>();
        for (Item piece : stock) {
            if (wanted.test(piece)) {
                kept.add(piece);
            }
        }
        return kept;
    }

    static List<Item> cheap(List<Item> supply, int limit) {
        return filter(supply, offer -> offer.price < limit && offer.count > 0);
    }

    static Item largest(List<Item> pool) {
        Item best = pool.get(0);
        for (Item other : pool) {
            if (other.price > best.price) {
                best = other;
            }
        }
        return pool.isEmpty() ? null : best;
    }

    static final class Item {
        final String title;
        final int price;
        final int count;

        Item(String name, int cost, int number) {
            this.title = name;
            this.price = cost;
            this.count = number;
        }
    }
}
