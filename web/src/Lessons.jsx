import { useState } from "preact/hooks";

/** Ten short lessons: a text, a question, a run, an answer. */
export function Lessons({ lessons, chosen, onChoose, onRun, isRun, finished }) {
  const [picked, setPicked] = useState({});
  const lesson = lessons.find((one) => one.id === chosen) ?? lessons[0];
  const number = lessons.indexOf(lesson);
  const choice = picked[lesson.id];
  const isAnswered = choice !== undefined && isRun && finished;
  return (
    <section class="lesson" aria-label="Lessons">
      <nav aria-label="Lessons">
        <ol>{lessons.map((one) => (
          <li key={one.id}><button type="button" aria-current={one === lesson ? "true" : undefined} onClick={() => onChoose(one)}>{one.title}</button></li>
        ))}</ol>
      </nav>
      <article>
        <h2>{number + 1}. {lesson.title}</h2>
        {lesson.text.map((one) => <p key={one}>{one}</p>)}
        <fieldset><legend>{lesson.question}</legend>
          {lesson.choices.map((text, at) => (
            <label key={text} class={choice !== undefined && at === lesson.correct ? "right" : ""}>
              <input type="radio" name={lesson.id} checked={choice === at} onChange={() => setPicked({ ...picked, [lesson.id]: at })} /> {text}
            </label>
          ))}
        </fieldset>
        <p><button type="button" onClick={() => onRun(lesson)}>Run: {lesson.aqms.join(" and ")}</button></p>
        <div role="status">
          {choice !== undefined && <p><strong>{choice === lesson.correct ? "Right." : `Not quite: “${lesson.choices[lesson.correct]}”.`}</strong>{isAnswered ? "" : " Run it to see the numbers."}</p>}
          {isAnswered && lesson.answer.map((one) => <p key={one}>{one}</p>)}
        </div>
      </article>
    </section>
  );
}
