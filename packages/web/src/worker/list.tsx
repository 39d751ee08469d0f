import { useEffect, useState } from 'preact/hooks'
import { countText, durationText, minutesText, starsText, usdText } from './format.ts'
import { starsPerHour, taskSeconds } from './hourly.ts'
import type { Assignment, AssignmentSummary, Task, Tasks } from './wire.ts'
import { toApiError, serverNow, type ApiError } from '../shared/person/api.ts'
import { fillPlaceholders } from '../shared/design/fill-placeholders.ts'
import { hrefOf, Title, ErrorNote, RefreshFailure } from '../shared/person/parts.tsx'
import { useQuery } from '../shared/person/use-query.tsx'
import { call } from './api.ts'
import { fallbackView } from './fallback.tsx'
import type { PageContext, Messages } from './messages.ts'

const refreshMs = 30_000
/** The service counts no further. */
const countMax = 100

const availableText = (n: number): string => (n >= countMax ? `${countMax}+` : String(n))

const taskPath = (assignmentId: string): string => hrefOf(`/work/${encodeURIComponent(assignmentId)}`)

const CurrentTask = ({ messages, current }: { messages: Messages; current: AssignmentSummary }) => (
  <section class="card pad current" aria-labelledby="current">
    <p class="small muted" id="current">
      {messages.list.currentTitle}
    </p>
    <h2 class="h3">{current.title}</h2>
    <p class="muted num">
      {fillPlaceholders(messages.list.timeLeft, {
        time: durationText(messages, Date.parse(current.dueAt) - serverNow()),
      })}
    </p>
    <a class="btn main wide" href={taskPath(current.assignmentId)}>
      {messages.list.goOn}
    </a>
  </section>
)

/** Dollars in an hour, where the time is known. Test Stars are worth none. */
const HourlyPay = ({ page: { messages, locale }, task }: { page: PageContext; task: Task }) => {
  const hourly = task.mode === 'test' ? undefined : starsPerHour(task.rewardStars, taskSeconds(task))
  return hourly === undefined ? null : (
    <p class="small muted num">{fillPlaceholders(messages.perHour, { usd: usdText(hourly, locale) })}</p>
  )
}

const TaskTime = ({ messages, task }: { messages: Messages; task: Task }) => {
  const seconds = taskSeconds(task)
  if (seconds <= 0) return null
  const { timeMeasured, timeStated } = messages.list
  return (
    <div>
      <dt>{messages.list.lasts}</dt>
      <dd class="num">
        {minutesText(messages, seconds / 60)}
        <span class="small muted"> {task.medianSeconds === null ? timeStated : timeMeasured}</span>
      </dd>
    </div>
  )
}

const TaskFigures = ({ page, task }: { page: PageContext; task: Task }) => (
  <dl class="figures">
    <div>
      <dt>{page.messages.list.pays}</dt>
      <dd>
        <b class="num">{starsText(page.messages, task.rewardStars)}</b>
        {task.mode === 'live' ? (
          <span class="small muted num"> {usdText(task.rewardStars, page.locale)}</span>
        ) : null}
      </dd>
    </div>
    <TaskTime messages={page.messages} task={task} />
    <div>
      <dt>{page.messages.list.left}</dt>
      <dd class="num">{availableText(task.available)}</dd>
    </div>
  </dl>
)

const TaskCard = ({ page, task, mayClaim }: { page: PageContext; task: Task; mayClaim: boolean }) => {
  const { messages } = page
  const [busy, setBusy] = useState(false)
  const [failed, setFailed] = useState<ApiError>()
  const claim = async () => {
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
        {task.mode === 'test' ? <span class="chip test">{messages.test}</span> : null}
      </div>
      <p class="muted">{task.description}</p>
      <TaskFigures page={page} task={task} />
      <HourlyPay page={page} task={task} />
      {failed ? <ErrorNote messages={messages} failed={failed} /> : null}
      {mayClaim ? (
        <button
          type="button"
          class="btn main wide"
          disabled={busy}
          aria-describedby={id}
          onClick={() => void claim()}
        >
          {busy ? messages.list.taking : messages.list.take}
        </button>
      ) : null}
    </li>
  )
}

export const ListPage = (page: PageContext) => {
  const { messages } = page
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
          tasks.length === 0
            ? messages.list.none
            : countText(tasks.length, messages.list.someOne, messages.list.some)
        }
      />
      <RefreshFailure messages={messages} loaded={loaded} />
      <p class="lead">{tasks.length === 0 ? messages.list.noneLead : messages.list.lead}</p>
      {current ? <CurrentTask messages={messages} current={current} /> : null}
      {current && tasks.length > 0 ? <p class="muted small">{messages.list.finishFirst}</p> : null}
      <ul class="tasks">
        {tasks.map((task) => (
          <TaskCard
            key={`${task.mode} ${task.workflowId}`}
            page={page}
            task={task}
            mayClaim={current === null}
          />
        ))}
      </ul>
      {tasks.some(({ mode }) => mode === 'test') ? <p class="muted small">{messages.testNote}</p> : null}
    </>
  )
}
