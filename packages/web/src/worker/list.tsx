import { useEffect, useState } from 'preact/hooks'
import { call, toApiError, serverNow, type ApiError } from './api.ts'
import { countText, durationText, minutesText, starsText, usdText } from './format.ts'
import { fallbackView, useQuery } from './use-query.tsx'
import { hrefOf, Title, ErrorNote, type PageContext } from './parts.tsx'
import type { Assignment, AssignmentSummary, Task, Tasks } from './wire.ts'
import { fill, type Messages } from './messages.ts'

const refreshMs = 30_000
/** The service counts no further. */
const countMax = 100

const availableText = (n: number): string => (n >= countMax ? `${countMax}+` : String(n))

const taskPath = (assignmentId: string): string => hrefOf(`/work/${encodeURIComponent(assignmentId)}`)

const CurrentTask = ({ words, current }: { words: Messages; current: AssignmentSummary }) => (
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

const TaskCard = ({
  page: { words, locale },
  task,
  barred,
}: {
  page: PageContext
  task: Task
  barred: boolean
}) => {
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<ApiError>()
  const take = async () => {
    setBusy(true)
    setFailed(undefined)
    try {
      const { workflowId, mode } = task
      const { assignmentId } = await call<Assignment>('POST', 'claim', { workflowId, mode })
      location.assign(taskPath(assignmentId))
    } catch (error) {
      setFailed(toApiError(error))
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
              <span class="small muted num"> {usdText(task.rewardStars, locale)}</span>
            ) : null}
          </dd>
        </div>
        <div>
          <dt>{words.list.lasts}</dt>
          <dd class="num">{minutesText(words, task.estMinutes)}</dd>
        </div>
        <div>
          <dt>{words.list.left}</dt>
          <dd class="num">{availableText(task.available)}</dd>
        </div>
      </dl>
      {failed ? <ErrorNote words={words} failed={failed} /> : null}
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

export const ListPage = (page: PageContext) => {
  const { words } = page
  const loaded = useQuery(() => call<Tasks>('GET', 'tasks'))
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') loaded.again()
    }, refreshMs)
    return () => clearInterval(timer)
  }, [])
  const other = fallbackView(page, loaded)
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
      {current ? <CurrentTask words={words} current={current} /> : null}
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
