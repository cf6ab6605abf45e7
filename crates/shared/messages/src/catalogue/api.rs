//! A page of an app's API, of a given size.

use crate::bench::{ApiAuthor, ApiItem, ApiPage, ApiVariant};
use crate::random::Random;

/// Makes a page whose JSON has exactly `json_bytes` bytes; at least 100.
///
/// Text is drawn from a vocabulary, so that it compresses about as well as that of real pages; some
/// of it is not ASCII.
pub(super) fn page(random: &mut Random, json_bytes: usize) -> ApiPage {
    let mut page = ApiPage {
        request_id: hex(random, 16),
        generated_at_ms: 1_763_757_325_123,
        total: 0,
        next_cursor: String::new(),
        items: Vec::new(),
    };
    loop {
        let next = item(random);
        page.items.push(next);
        page.total = page.items.len() as i32 * 7;
        if json_len(&page) > json_bytes {
            page.items.pop();
            break;
        }
    }
    page.total = page.items.len() as i32 * 7;
    let missing = json_bytes.saturating_sub(json_len(&page));
    let filler = match page.items.last_mut() {
        Some(last) => &mut last.description,
        None => &mut page.next_cursor,
    };
    filler.push_str(&prose(random, missing));
    page
}

fn item(random: &mut Random) -> ApiItem {
    let id = random.between(1, 1 << 40) as i64;
    let words = random.count(8, 40);
    ApiItem {
        id,
        sku: format!("{}-{}", hex(random, 8), random.between(100, 999)),
        title: sentence(random, 4),
        description: sentence(random, words),
        price: random.between(99, 99_999) as f64 / 100.0,
        currency: (*random.pick(&["EUR", "USD", "JPY", "THB"])).into(),
        stock: random.between(0, 500) as i32,
        available: random.bool(),
        updated_at_ms: 1_763_757_325_123 - random.between(0, 90 * 86_400_000) as i64,
        tags: (0..random.count(0, 6))
            .map(|_| (*random.pick(WORDS)).into())
            .collect(),
        author: Some(author(random)),
        variants: (0..random.count(0, 4))
            .map(|_| ApiVariant {
                name: sentence(random, 2),
                stock: random.between(0, 99) as i32,
                price_delta: random.between(0, 1000) as f64 / 100.0,
            })
            .collect(),
    }
}

fn author(random: &mut Random) -> ApiAuthor {
    let id = random.between(1, 1 << 32) as i64;
    ApiAuthor {
        id,
        name: format!("{} {}", random.pick(NAMES), random.pick(NAMES)),
        avatar_url: format!("https://img.example.com/u/{id}/{}.webp", hex(random, 12)),
        verified: random.bool(),
    }
}

fn sentence(random: &mut Random, words: usize) -> String {
    let words: Vec<&str> = (0..words).map(|_| word(random)).collect();
    words.join(" ")
}

/// Writes exactly this many bytes of words. They are ASCII, so the text can be cut anywhere.
fn prose(random: &mut Random, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        text.push(' ');
        text.push_str(word(random));
    }
    text.truncate(bytes);
    text
}

/// Prefers the words at the start of the list by taking the smaller of two draws.
fn word(random: &mut Random) -> &'static str {
    let last = WORDS.len() as u64 - 1;
    let rank = random.between(0, last).min(random.between(0, last));
    WORDS[rank as usize]
}

fn hex(random: &mut Random, digits: usize) -> String {
    let bits = format!("{:016x}", random.next_u64());
    bits[..digits].to_owned()
}

fn json_len(page: &ApiPage) -> usize {
    serde_json::to_vec(page).map_or(usize::MAX, |json| json.len())
}

const WORDS: &[&str] = &[
    "the",
    "and",
    "of",
    "with",
    "for",
    "in",
    "light",
    "cotton",
    "size",
    "new",
    "black",
    "classic",
    "soft",
    "water",
    "resistant",
    "travel",
    "daily",
    "handmade",
    "steel",
    "small",
    "large",
    "summer",
    "winter",
    "edition",
    "original",
    "recycled",
    "fabric",
    "leather",
    "pocket",
    "zip",
    "compact",
    "wireless",
    "battery",
    "charger",
    "screen",
    "case",
    "cover",
    "bottle",
    "lamp",
    "table",
    "kitchen",
    "garden",
    "outdoor",
    "running",
    "shoe",
    "jacket",
    "shirt",
    "trousers",
    "scarf",
    "gloves",
    "bag",
    "backpack",
    "notebook",
    "pencil",
    "paper",
    "glass",
    "ceramic",
    "wooden",
    "organic",
    "coffee",
    "tea",
    "chocolate",
    "spice",
    "oil",
    "soap",
    "cream",
    "brush",
    "towel",
    "blanket",
    "pillow",
    "chair",
    "desk",
    "shelf",
    "frame",
    "mirror",
    "clock",
    "radio",
    "speaker",
    "camera",
    "lens",
    "tripod",
    "cable",
    "adapter",
    "mount",
    "helmet",
    "tent",
    "rope",
    "knife",
    "torch",
    "map",
    "compass",
    "guide",
    "novel",
    "poster",
    "puzzle",
    "game",
    "toy",
    "bicycle",
    "wheel",
    "pump",
    "engine",
];

const NAMES: &[&str] = &[
    "Ana",
    "Björn",
    "Chloé",
    "Dmitri",
    "Elif",
    "Fatima",
    "Goran",
    "Hana",
    "Ines",
    "Jürgen",
    "Kenji",
    "Lucía",
    "Mei",
    "Noah",
    "Olu",
    "Priya",
    "Quentin",
    "Rosa",
    "Søren",
    "Thandi",
    "Uma",
    "Viktor",
    "Wei",
    "Ximena",
    "Yuki",
    "Zoë",
    "山田",
    "สมชาย",
];
