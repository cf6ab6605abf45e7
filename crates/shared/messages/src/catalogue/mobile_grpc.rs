//! The mobile-grpc study: six random messages, by the study's own rules.

use crate::bench::{
    AddressBook, Attributes, Comment, Large, Newsfeed, Person, PhoneNumber, Post, Profile,
    Reaction, Small, Thing1, Thing2, Thing3,
};
use crate::random::Random;

pub(super) fn small(random: &mut Random) -> Small {
    Small {
        name: text_up_to(random, 30),
    }
}

pub(super) fn address_book(random: &mut Random) -> AddressBook {
    AddressBook {
        people: up_to(random, 10, |random| Person {
            name: random.text(16),
            id: random.int32(),
            email: random.text(30),
            phones: up_to(random, 4, |random| PhoneNumber {
                number: random.text(9),
                r#type: random.between(0, 2) as i32,
            }),
        }),
    }
}

pub(super) fn newsfeed(random: &mut Random) -> Newsfeed {
    Newsfeed {
        profiles: up_to(random, 50, |random| Profile {
            id: random.int32(),
            name: text_up_to(random, 16),
            about: text_up_to(random, 120),
            gender: random.bool(),
            posts: up_to(random, 12, post),
        }),
    }
}

/// Makes a message with one to ten children at each level, strings of 1 to 60.
pub(super) fn large(random: &mut Random) -> Large {
    let mut shape = Shape {
        children: |random: &mut Random| random.count(1, 10),
        text: |random: &mut Random| text_up_to(random, 60),
    };
    shape.large(random)
}

/// Makes a message with five children at each level, all strings of the same length.
pub(super) fn large_of(random: &mut Random, length: usize) -> Large {
    let mut shape = Shape {
        children: |_: &mut Random| 5,
        text: |random: &mut Random| random.text(length),
    };
    shape.large(random)
}

fn post(random: &mut Random) -> Post {
    Post {
        owner: random.int32(),
        content: text_up_to(random, 400),
        reactions: up_to(random, 10, |random| Reaction {
            owner: random.int32(),
            r#type: random.between(0, 4) as i32,
        }),
        comments: up_to(random, 10, |random| Comment {
            owner: random.int32(),
            text: text_up_to(random, 240),
        }),
    }
}

/// The differences between the three large messages.
struct Shape<C, T> {
    children: C,
    text: T,
}

impl<C, T> Shape<C, T>
where
    C: FnMut(&mut Random) -> usize,
    T: FnMut(&mut Random) -> String,
{
    fn large(&mut self, random: &mut Random) -> Large {
        Large {
            attributes: Some(self.attributes(random)),
            things: self.level(random, Self::thing1),
        }
    }

    fn thing1(&mut self, random: &mut Random) -> Thing1 {
        Thing1 {
            attributes: Some(self.attributes(random)),
            things: self.level(random, Self::thing2),
        }
    }

    fn thing2(&mut self, random: &mut Random) -> Thing2 {
        Thing2 {
            attributes: Some(self.attributes(random)),
            r#type: random.between(0, 2) as i32,
            things: self.level(random, |shape, random| Thing3 {
                attributes: Some(shape.attributes(random)),
            }),
        }
    }

    fn level<N>(
        &mut self,
        random: &mut Random,
        mut node: impl FnMut(&mut Self, &mut Random) -> N,
    ) -> Vec<N> {
        let count = (self.children)(random);
        (0..count).map(|_| node(self, random)).collect()
    }

    fn attributes(&mut self, random: &mut Random) -> Attributes {
        Attributes {
            int1: random.int32(),
            int2: random.int32(),
            int3: random.int32(),
            float1: random.float(),
            float2: random.float(),
            float3: random.float(),
            string1: (self.text)(random),
            string2: (self.text)(random),
            string3: (self.text)(random),
            bool1: random.bool(),
            bool2: random.bool(),
            bool3: random.bool(),
            double1: random.double(),
            double2: random.double(),
            double3: random.double(),
        }
    }
}

fn up_to<T>(random: &mut Random, most: u64, mut one: impl FnMut(&mut Random) -> T) -> Vec<T> {
    let count = random.count(1, most);
    (0..count).map(|_| one(random)).collect()
}

fn text_up_to(random: &mut Random, most: u64) -> String {
    let length = random.count(1, most);
    random.text(length)
}
