import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { App } from "./App.jsx";
import { Pool } from "./pool.js";

const read = (id) => document.getElementById(id).textContent;
const given = JSON.parse(read("given"));
render(<App pool={new Pool(read("worker"), read("simulator").trim())} given={given} />, document.getElementById("page"));
