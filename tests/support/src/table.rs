//! Measurements of several runs, and their spread.

use std::collections::BTreeMap;

/// Measurements by name, in the order of their first appearance; one value a run.
#[derive(Default)]
pub struct Table(Vec<(String, String, Vec<f64>)>);

impl Table {
    /// Adds the value of a run.
    pub fn add(&mut self, name: impl Into<String>, unit: impl Into<String>, value: f64) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, _, values)) => values.push(value),
            None => self.0.push((name, unit.into(), vec![value])),
        }
    }

    /// Prints it for another process.
    #[allow(clippy::print_stdout)]
    pub fn hand_over(&self) {
        for (name, unit, values) in &self.0 {
            values.iter().for_each(|value| println!("{name}\t{unit}\t{value}"));
        }
    }

    /// Adds what another process has printed, with something before each name; its values by their names there.
    pub fn take_over<'l>(&mut self, before: &str, printed: impl Iterator<Item = &'l str>) -> BTreeMap<String, f64> {
        let mut taken = BTreeMap::new();
        for line in printed {
            let parts: Vec<&str> = line.split('\t').collect();
            let [name, unit, value] = parts[..] else { panic!("{line}") };
            let value = value.parse().unwrap();
            self.add(format!("{before}{name}"), unit, value);
            taken.insert(name.to_owned(), value);
        }
        taken
    }

    /// Prints it.
    #[allow(clippy::print_stdout)]
    pub fn print(&self) {
        println!("\n| what | unit | min | median | max |\n|---|---|---|---|---|");
        for (name, unit, values) in &self.0 {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let (min, median, max) = (sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
            println!("| {name} | {unit} | {min:.2} | {median:.2} | {max:.2} |");
        }
    }
}
