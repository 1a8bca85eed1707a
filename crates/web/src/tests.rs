use super::session::Session;
use serde_json::{json, Value};

/// Two flows at 4 Mbit/s for 3 s.
const SCENARIO: &str = r#"
    name = "small"
    duration = "3 s"
    warm_up = "1 s"
    links = [{ name = "neck", from = "x", to = "y", rate = "4 Mbit/s", delay = "10 ms", under_test = true, queue = "pfifo limit 50p" }]
    flows = [{ name = "bulk", from = "x", to = "y", count = 2 }]
"#;

struct Page(Session);

impl Page {
    fn new() -> Self {
        Self(Session::default())
    }

    fn text(&mut self, request: Value) -> Result<String, String> {
        self.0.answer(&request.to_string())
    }

    fn ask(&mut self, request: Value) -> Value {
        serde_json::from_str(&self.text(request).unwrap()).unwrap()
    }

    fn scenario(&mut self) -> String {
        let sets = [r#"series={ interval = "100 ms", flows = true }"#];
        let read = self.ask(json!({"do": "scenario", "text": SCENARIO, "source": "small", "sets": sets}));
        assert_eq!((&read["queues"], &read["groups"]), (&json!(["x->y"]), &json!(["bulk"])));
        assert_eq!(read["flows"][1], json!({"name": "bulk[1]", "group": "bulk"}));
        read["json"].as_str().unwrap().to_owned()
    }
}

fn task(scheme: &str) -> Value {
    json!({"scheme": scheme, "seed": 1, "replication": 0, "series": "100ms"})
}

#[test]
fn a_run_in_slices_gives_the_report_of_a_run_as_a_whole() {
    let mut page = Page::new();
    let scenario = page.scenario();
    for scheme in ["pfifo limit 20p", "codel", "fq_codel", "pie"] {
        let whole = page.text(json!({"do": "run", "scenario": scenario, "task": task(scheme)})).unwrap();
        page.ask(json!({"do": "open", "run": 7, "scenario": scenario, "task": task(scheme), "watch": "x->y"}));
        let mut points = Vec::new();
        for until_ms in [130, 1_999, 2_000, 9_000] {
            let found = page
                .ask(json!({"do": "advance", "run": 7, "until_ns": until_ms * 1_000_000_u64, "from": points.len()}));
            points.extend(found["series"][0]["value"].as_array().unwrap().iter().cloned());
        }
        let slices = page.text(json!({"do": "report", "run": 7})).unwrap();
        assert_eq!(slices, whole, "{scheme}");
        // The points on the way are those of the report.
        let report: Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(report["series"][0]["value"].as_array().unwrap(), &points);
        assert_eq!(points.len(), 30);
    }
}

#[test]
fn a_watched_queue_balances_and_its_packets_are_those_that_wait() {
    let mut page = Page::new();
    let scenario = page.scenario();
    page.ask(json!({"do": "open", "run": 1, "scenario": scenario, "task": task("pfifo limit 10p"), "watch": "x->y"}));
    page.ask(json!({"do": "watch", "run": 1, "steps": 0, "from_ns": 1_500_000_000_u64}));
    let mut before = page.ask(json!({"do": "watch", "run": 1, "steps": 0}))["queue"].clone();
    assert!(before["drops"].as_u64().unwrap() > 0);
    for _ in 0..200 {
        let found = page.ask(json!({"do": "watch", "run": 1, "steps": 1}));
        let events = found["steps"][0]["events"].as_array().unwrap();
        let many = |what: &str| events.iter().filter(|event| event["what"] == what).count() as i64;
        let queue = found["queue"].clone();
        let waiting = |queue: &Value| queue["waiting"].as_i64().unwrap();
        assert_eq!(waiting(&queue), waiting(&before) + many("arrived") - many("left") - many("dropped"));
        assert!(waiting(&queue) <= 10);
        assert_eq!(queue["packets"].as_array().unwrap().len() as i64, waiting(&queue));
        // A FIFO sends the packet that was shown at its head.
        for left in events.iter().filter(|event| event["what"] == "left") {
            let head = before["packets"].get(0).map_or(&left["serial"], |head| &head["serial"]);
            assert_eq!(&left["serial"], head);
        }
        before = queue;
    }
}

#[test]
fn fair_queueing_shows_its_turns_with_the_flows_at_their_heads() {
    let mut page = Page::new();
    let scenario = page.scenario();
    page.ask(json!({"do": "open", "run": 1, "scenario": scenario, "task": task("fq_codel"), "watch": "x->y"}));
    let queue = page.ask(json!({"do": "watch", "run": 1, "steps": 0, "from_ns": 2_000_000_000_u64}))["queue"].clone();
    let queues = queue["queues"].as_array().unwrap();
    let packets: u64 = queues.iter().map(|queue| queue["packets"].as_u64().unwrap()).sum();
    assert_eq!(packets, queue["waiting"].as_u64().unwrap());
    let mut flows: Vec<u64> = queues.iter().filter_map(|queue| queue["flow"].as_u64()).collect();
    flows.sort_unstable();
    assert_eq!(flows, [0, 1]);
}

#[test]
fn what_is_wrong_is_said() {
    let mut page = Page::new();
    let scenario = page.scenario();
    for (request, expected) in [
        (json!({"do": "jump"}), "the request: unknown variant `jump`"),
        (json!({"do": "scheme", "text": "codle"}), "did you mean \"codel\"?"),
        (
            json!({"do": "scenario", "text": SCENARIO, "source": "small", "sets": ["links.nick.rate=1"]}),
            "did you mean \"neck\"?",
        ),
        (json!({"do": "advance", "run": 3, "until_ns": 0, "from": 0}), "there is no run 3"),
        (
            json!({"do": "open", "run": 1, "scenario": scenario, "task": task("codel"), "watch": "y->x"}),
            "allowed: x->y",
        ),
        (json!({"do": "run", "scenario": scenario, "task": {"scheme": "codel"}}), "the task: missing field"),
        (
            json!({"do": "scenario", "text": SCENARIO, "source": "small", "sets": ["links.neck.trace={ file = \"a\" }"]}),
            "drop a file into the page",
        ),
    ] {
        let why = page.text(request).unwrap_err();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn a_trace_that_the_page_has_is_followed() {
    let mut page = Page::new();
    let text =
        SCENARIO.replace("rate = \"4 Mbit/s\", ", "trace = { file = \"mine.csv\" }, reverse_rate = \"1 Mbit/s\", ");
    let files = json!({"mine.csv": "time_s,rate_mbit_s\n0,4\n1,1\n2,4\n3,4\n"});
    let read = page.ask(json!({"do": "scenario", "text": text, "source": "small", "files": files}));
    assert_eq!(read["queues"], json!(["x->y"]));
}
