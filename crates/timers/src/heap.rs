//! A heap with four children to a node, which knows where each of its timers is.

/// When, and who.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) at: u64,
    pub(crate) slot: u32,
}

/// The position of who is not in it.
const NOWHERE: u32 = u32::MAX;
const CHILDREN: usize = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    nodes: Vec<Node>,
    /// By slot.
    positions: Vec<u32>,
}

impl Heap {
    pub(crate) const fn new() -> Self {
        Self {
            nodes: Vec::new(),
            positions: Vec::new(),
        }
    }

    pub(crate) fn with_capacity(timers: usize) -> Self {
        Self {
            nodes: Vec::with_capacity(timers),
            positions: Vec::with_capacity(timers),
        }
    }

    pub(crate) fn first(&self) -> Option<Node> {
        self.nodes.first().copied()
    }

    /// When `slot` is, if it is in here.
    pub(crate) fn at(&self, slot: u32) -> Option<u64> {
        let position = *self.positions.get(slot as usize)?;
        Some(self.nodes.get(position as usize)?.at)
    }

    /// `node.slot` must not be in here yet.
    pub(crate) fn insert(&mut self, node: Node) {
        let needed = node.slot as usize + 1;
        if self.positions.len() < needed {
            self.positions.resize(needed, NOWHERE);
        }
        self.nodes.push(node);
        self.rise(self.nodes.len() - 1, node);
    }

    /// Whether it was in here.
    pub(crate) fn remove(&mut self, slot: u32) -> bool {
        let Some(position) = self.positions.get_mut(slot as usize) else {
            return false;
        };
        let hole = std::mem::replace(position, NOWHERE);
        if hole == NOWHERE {
            return false;
        }
        let hole = hole as usize;
        let last = self.nodes.pop().expect("there is one at the hole");
        if hole < self.nodes.len() {
            if hole > 0 && last.at < self.nodes[parent(hole)].at {
                self.rise(hole, last);
            } else {
                self.sink(hole, last);
            }
        }
        true
    }

    /// Places `node` at `hole`, or above.
    fn rise(&mut self, mut hole: usize, node: Node) {
        while hole > 0 {
            let above = self.nodes[parent(hole)];
            if above.at <= node.at {
                break;
            }
            self.place(hole, above);
            hole = parent(hole);
        }
        self.place(hole, node);
    }

    /// Places `node` at `hole`, or below.
    fn sink(&mut self, mut hole: usize, node: Node) {
        loop {
            let first = hole * CHILDREN + 1;
            let children = self.nodes.iter().enumerate().skip(first).take(CHILDREN);
            match children.min_by_key(|(_, child)| child.at) {
                Some((below, &child)) if child.at < node.at => {
                    self.place(hole, child);
                    hole = below;
                }
                _ => break,
            }
        }
        self.place(hole, node);
    }

    fn place(&mut self, position: usize, node: Node) {
        self.nodes[position] = node;
        self.positions[node.slot as usize] = position as u32;
    }
}

fn parent(position: usize) -> usize {
    (position - 1) / CHILDREN
}
