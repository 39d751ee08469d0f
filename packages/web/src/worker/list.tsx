import { useEffect, useState } from 'preact/hooks'
import { call, failedOf, serverNow, type Failed } from './api.ts'
import { countText, durationText, minutesText, starsText, worthText } from './format.ts'
import { instead, useLoaded } from './use-query.tsx'
import { hrefOf, Title, Trouble, type Page } from './parts.tsx'
import type { Assignment, Summary, Task, Tasks } from './wire.ts'
import { fill, type Words } from './messages.ts'

const refreshMs = 30_000
/** The service counts no further. */
const countMax = 100

const waitsText = (n: number): string => (n >= countMax ? `${countMax}+` : String(n))

const taskPath = (assignmentId: string): string => hrefOf(`/work/${encodeURIComponent(assignmentId)}`)

const Current = ({ words, current }: { words: Words; current: Summary }) => (
  <section class="card pad current" aria-labelledby="current">
    <p class="small muted" id="current">
      {words.list.currentTitle}
    </p>
    <h2 class="h3">{current.title}</h2>
    <p class="muted num">
      {fill(words.list.timeLeft, { time: durationText(words, Date.parse(current.dueAt) - serverNow()) })}
    </p>
    <a class="btn main wide" href={taskPath(current.assignmentId)}>
      {words.list.goOn}
    </a>
  </section>
)

const TaskCard = ({ page: { words, locale }, task, barred }: { page: Page; task: Task; barred: boolean }) => {
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<Failed>()
  const take = async () => {
    setBusy(true)
    setFailed(undefined)
    try {
      const { workflowId, mode } = task
      const { assignmentId } = await call<Assignment>('POST', 'claim', { workflowId, mode })
      location.assign(taskPath(assignmentId))
    } catch (error) {
      setFailed(failedOf(error))
      setBusy(false)
    }
  }
  const id = `task-${task.mode}-${task.workflowId}`
  return (
    <li class="card pad task">
      <div class="head">
        <h2 class="h3" id={id}>
          {task.title}
        </h2>
        {task.mode === 'test' ? <span class="chip test">{words.test}</span> : null}
      </div>
      <p class="muted">{task.description}</p>
      <dl class="figures">
        <div>
          <dt>{words.list.pays}</dt>
          <dd>
            <b class="num">{starsText(words, task.rewardStars)}</b>
            {task.mode === 'live' ? (
              <span class="small muted num"> {worthText(task.rewardStars, locale)}</span>
            ) : null}
          </dd>
        </div>
        <div>
          <dt>{words.list.lasts}</dt>
          <dd class="num">{minutesText(words, task.estMinutes)}</dd>
        </div>
        <div>
          <dt>{words.list.left}</dt>
          <dd class="num">{waitsText(task.available)}</dd>
        </div>
      </dl>
      {failed ? <Trouble words={words} failed={failed} /> : null}
      {barred ? null : (
        <button
          type="button"
          class="btn main wide"
          disabled={busy}
          aria-describedby={id}
          onClick={() => void take()}
        >
          {busy ? words.list.taking : words.list.take}
        </button>
      )}
    </li>
  )
}

export const ListPage = (page: Page) => {
  const { words } = page
  const loaded = useLoaded(() => call<Tasks>('GET', 'tasks'))
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') loaded.again()
    }, refreshMs)
    return () => clearInterval(timer)
  }, [])
  const other = instead(page, loaded)
  if (other || !loaded.value) return other
  const { tasks, current } = loaded.value
  return (
    <>
      <Title
        text={
          tasks.length === 0 ? words.list.none : countText(tasks.length, words.list.someOne, words.list.some)
        }
      />
      <p class="lead">{tasks.length === 0 ? words.list.noneLead : words.list.lead}</p>
      {current ? <Current words={words} current={current} /> : null}
      {current && tasks.length > 0 ? <p class="muted small">{words.list.finishFirst}</p> : null}
      <ul class="tasks">
        {tasks.map((task) => (
          <TaskCard
            key={`${task.mode} ${task.workflowId}`}
            page={page}
            task={task}
            barred={current !== null}
          />
        ))}
      </ul>
      {tasks.some(({ mode }) => mode === 'test') ? <p class="muted small">{words.testNote}</p> : null}
    </>
  )
}
