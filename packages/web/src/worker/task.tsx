import { startAttendedSession, type AttendedSession } from '@pohf/tag/attend'
import { useEffect, useRef, useState } from 'preact/hooks'
import { AnswerForm, fieldId } from './answer-form.tsx'
import { call, serverNow, type ApiError } from './api.ts'
import { deleteDraft, saveDraft, readDraft, type Values } from './draft.ts'
import { answerFromValues, validateField, type FieldError } from './fields.ts'
import { countText, durationText, minutesText, starsText, usdText } from './format.ts'
import { TaskInput } from './task-input.tsx'
import { Submission } from './submission.tsx'
import { fallbackView, useQuery } from './use-query.tsx'
import { Title, ErrorNote, type PageContext } from './parts.tsx'
import { Result } from './result.tsx'
import type { Assignment, AssignmentSummary } from './wire.ts'
import { fill, type Messages } from './messages.ts'

const pathOf = (assignmentId: string, act = ''): string =>
  `assignments/${encodeURIComponent(assignmentId)}${act}`

/** The time that is left, counted by the service's clock. Told aloud twice, shown always. */
const TimeLeft = ({ words, dueAt, onOver }: { words: Messages; dueAt: string; onOver: () => void }) => {
  const [left, setLeft] = useState(Date.parse(dueAt) - serverNow())
  const isOver = left <= 0
  useEffect(() => {
    const timer = setInterval(() => setLeft(Date.parse(dueAt) - serverNow()), 1_000)
    return () => clearInterval(timer)
  }, [dueAt])
  useEffect(() => {
    if (isOver) onOver()
  }, [isOver])
  const soon = [5, 1].find((minutes) => left <= minutes * 60_000 && left > (minutes - 0.25) * 60_000)
  return (
    <>
      <span class={`num ${left < 120_000 ? 'bad' : ''}`}>
        {fill(words.task.due, { time: durationText(words, left) })}
      </span>
      <span class="hidden" role="status">
        {soon === undefined ? '' : fill(words.task.dueSoon, { time: durationText(words, soon * 60_000) })}
      </span>
    </>
  )
}

const ReturnTask = ({
  words,
  assignment,
  onGiven,
}: {
  words: Messages
  assignment: Assignment
  onGiven: () => void
}) => {
  const [isConfirming, setIsConfirming] = useState(false)
  const [failed, setFailed] = useState<ApiError>()
  const question = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (isConfirming) question.current?.focus()
  }, [isConfirming])
  const returnUnit = async () => {
    try {
      await call<AssignmentSummary>('POST', pathOf(assignment.assignmentId, '/return'), {})
      deleteDraft(assignment.assignmentId)
      onGiven()
    } catch (error) {
      setFailed(error as ApiError)
    }
  }
  if (!isConfirming)
    return (
      <button type="button" class="btn quiet" onClick={() => setIsConfirming(true)}>
        {words.task.giveBack}
      </button>
    )
  return (
    <div class="note warn">
      <p ref={question} tabIndex={-1}>
        {words.task.giveBackSure}
      </p>
      {failed ? <ErrorNote words={words} failed={failed} /> : null}
      <p class="actions">
        <button type="button" class="btn" onClick={() => void returnUnit()}>
          {words.task.giveBackYes}
        </button>
        <button type="button" class="btn" onClick={() => setIsConfirming(false)}>
          {words.task.giveBackNo}
        </button>
      </p>
    </div>
  )
}

const Steps = ({ assignment }: { assignment: Assignment }) => (
  <ol class="plain">
    {assignment.steps.map((step) => (
      <li key={step}>{step}</li>
    ))}
  </ol>
)

const Instructions = ({ words, assignment }: { words: Messages; assignment: Assignment }) =>
  assignment.instructions === null ? null : (
    <section class="card pad" aria-labelledby="buyer">
      <h2 class="small muted" id="buyer">
        {words.task.buyerSays}
      </h2>
      <p class="text">{assignment.instructions}</p>
    </section>
  )

type Progress = { readonly done: number; readonly of: number }
type Phase = 'brief' | 'opening' | 'working' | 'handing'

const TaskBrief = ({
  page: { words, locale },
  assignment,
  busy,
  ended,
  hasDraft,
  onBegin,
}: {
  page: PageContext
  assignment: Assignment
  busy: boolean
  ended: string | undefined
  hasDraft: boolean
  onBegin: (usesWords: boolean) => void
}) => (
  <>
    {ended === undefined ? null : (
      <p class="note warn" role="alert">
        {fill(words.task.ended, { why: ended })}
      </p>
    )}
    {ended === undefined && hasDraft ? (
      <p class="note ok" role="status">
        {words.task.restored}
      </p>
    ) : null}
    <p class="lead num">
      {starsText(words, assignment.rewardStars)}
      {assignment.mode === 'live' ? ` (${usdText(assignment.rewardStars, locale)})` : ''},{' '}
      {minutesText(words, assignment.estMinutes)}
      {assignment.mode === 'test' ? <span class="chip test">{words.test}</span> : null}
    </p>
    <section class="card pad stack" aria-labelledby="steps">
      <h2 class="h3" id="steps">
        {words.task.steps}
      </h2>
      <Steps assignment={assignment} />
    </section>
    <Instructions words={words} assignment={assignment} />
    <section class="stack" aria-labelledby="before">
      <h2 class="h3" id="before">
        {words.task.before}
      </h2>
      <p class="muted">{words.task.recorded}</p>
      <p class="muted">{words.task.stay}</p>
      <p class="muted" id="words-why">
        {words.task.beginWordsWhy}
      </p>
      <button
        type="button"
        class="btn wide"
        disabled={busy}
        aria-describedby="words-why"
        onClick={() => onBegin(true)}
      >
        {words.task.beginWords}
      </button>
    </section>
  </>
)

const SubmitBar = ({
  words,
  assignment,
  progress,
  said,
  onHandIn,
  onOver,
}: {
  words: Messages
  assignment: Assignment
  progress: Progress
  said: string
  onHandIn: () => void
  onOver: () => void
}) => (
  <div class="act bar-foot">
    <p class={said === '' ? 'hidden' : 'said-small'} role="status">
      {said}
    </p>
    <p class="between small">
      <span class="dots" aria-hidden="true">
        {Array.from({ length: progress.of }, (_, index) => (
          <i key={index} class={index < progress.done ? 'full' : ''} />
        ))}
      </span>
      <span>
        {progress.done >= progress.of
          ? words.task.questionsDone
          : fill(words.task.questions, { done: progress.done, of: progress.of })}
      </span>
      <TimeLeft words={words} dueAt={assignment.dueAt} onOver={onOver} />
    </p>
    <button type="button" class="btn main wide" onClick={onHandIn}>
      {words.task.handIn}
    </button>
  </div>
)

/** One unit from the first look to the hand-over. */
const ClaimedTask = ({
  page,
  assignment,
  onChanged,
  onAgain,
}: {
  page: PageContext
  assignment: Assignment
  onChanged: (next: Assignment) => void
  onAgain: () => void
}) => {
  const { words } = page
  const { assignmentId, answerForm } = assignment
  const [savedDraft] = useState(() => readDraft(assignmentId))
  const [values, setValues] = useState<Values>(savedDraft.values)
  const [phase, setPhase] = useState<Phase>(savedDraft.sessionId === undefined ? 'brief' : 'handing')
  const [progress, setProgress] = useState<Progress>({ done: 0, of: 3 })
  const [lost, setLost] = useState(false)
  const [ended, setEnded] = useState<string>()
  const [usesWords, setUsesWords] = useState(false)
  const [faults, setFaults] = useState<ReadonlyMap<string, FieldError>>(new Map())
  const [said, setSaid] = useState('')
  /** Handed in before the last question: it goes by itself after it. */
  const [submitsWhenDone, setSubmitsWhenDone] = useState(false)
  const attending = useRef<AttendedSession>(undefined)

  const begin = (withWords: boolean) => {
    setPhase('opening')
    setEnded(undefined)
    setProgress({ done: 0, of: 3 })
    setUsesWords(withWords)
    const onFailed = ({ code }: { code: string }) => {
      attending.current = undefined
      setSubmitsWhenDone(false)
      setEnded(words.failed[code] ?? words.failed['failed'] ?? '')
      setPhase('brief')
    }
    void startAttendedSession({
      site: assignment.site,
      kind: 'work',
      challenge: assignment.challenge,
      ...(assignment.workflowId === null ? {} : { workflowId: assignment.workflowId }),
      baseUrl: location.origin,
      usesWords: withWords,
      texts: { ready: words.task.ready, skip: words.task.skip },
      onProgress: setProgress,
      onLost: setLost,
      onFailed,
    }).then(
      (running) => {
        attending.current = running
        setPhase('working')
      },
      (error: unknown) => onFailed({ code: (error as { code?: string }).code ?? 'failed' }),
    )
  }
  const change = (next: Values) => {
    setValues(next)
    saveDraft(assignmentId, { values: next })
    setFaults((now) => new Map([...now].filter(([name]) => next[name] === values[name])))
  }
  const handIn = () => {
    const found = new Map(
      answerForm.flatMap((field) => {
        const fault = validateField(field, values)
        return fault ? [[field.name, fault] as const] : []
      }),
    )
    setFaults(found)
    const first = answerForm.find(({ name }) => found.has(name))
    if (first) {
      setSaid(countText(found.size, words.task.missingSomeOne, words.task.missingSome))
      document.getElementById(fieldId(first))?.focus()
      return
    }
    if (progress.done < progress.of) {
      setSaid(words.task.waitsForQuestions)
      setSubmitsWhenDone(true)
    } else setPhase('handing')
  }
  useEffect(() => {
    if (submitsWhenDone && phase === 'working' && progress.done >= progress.of) setPhase('handing')
  }, [submitsWhenDone, phase, progress])

  if (phase === 'handing')
    return (
      <Submission
        words={words}
        assignmentId={assignmentId}
        sessionId={savedDraft.sessionId}
        finish={() => attending.current?.finish()}
        values={values}
        answer={answerFromValues(answerForm, values)}
        onDone={onChanged}
        onAgain={onAgain}
        onLost={(why) => {
          setEnded(why)
          setPhase('brief')
        }}
      />
    )
  const returnTask = (
    <ReturnTask
      words={words}
      assignment={assignment}
      onGiven={() => {
        attending.current?.stop()
        onAgain()
      }}
    />
  )
  if (phase !== 'working')
    return (
      <>
        <Title text={assignment.title} />
        <TaskBrief
          page={page}
          assignment={assignment}
          busy={phase === 'opening'}
          ended={ended}
          hasDraft={Object.keys(values).length > 0}
          onBegin={begin}
        />
        <div>{returnTask}</div>
        <div class="act">
          <p class="small muted num">
            <TimeLeft words={words} dueAt={assignment.dueAt} onOver={onAgain} />
          </p>
          <button
            type="button"
            class="btn main wide"
            disabled={phase === 'opening'}
            onClick={() => begin(false)}
          >
            {phase === 'opening' ? words.task.opening : words.task.begin}
          </button>
        </div>
      </>
    )
  return (
    <>
      <Title key="working" text={assignment.title} />
      <p class="muted num">{fill(words.task.pay, { stars: starsText(words, assignment.rewardStars) })}</p>
      {lost ? (
        <p class="note warn" role="alert">
          {words.task.lost}
        </p>
      ) : null}
      <details class="card fold">
        <summary>{words.task.steps}</summary>
        <Steps assignment={assignment} />
      </details>
      <Instructions words={words} assignment={assignment} />
      <TaskInput words={words} assignment={assignment} />
      <AnswerForm words={words} form={answerForm} values={values} faults={faults} onValues={change} />
      {progress.done < progress.of ? (
        <div class="small muted">
          <p>{words.task.questionsWhy}</p>
          {usesWords ? null : (
            <button
              type="button"
              class="btn quiet"
              onClick={() => {
                setUsesWords(true)
                attending.current?.switchToWords()
              }}
            >
              {words.task.takeWords}
            </button>
          )}
        </div>
      ) : null}
      <div>{returnTask}</div>
      <SubmitBar
        words={words}
        assignment={assignment}
        progress={progress}
        said={said}
        onHandIn={handIn}
        onOver={onAgain}
      />
    </>
  )
}

export const TaskPage = ({ assignmentId, ...page }: PageContext & { assignmentId: string }) => {
  const loaded = useQuery(() => call<Assignment>('GET', pathOf(assignmentId)))
  const other = fallbackView(page, loaded)
  if (other || !loaded.value) return other
  if (loaded.value.status === 'claimed')
    return <ClaimedTask page={page} assignment={loaded.value} onChanged={loaded.set} onAgain={loaded.again} />
  return <Result page={page} assignment={loaded.value} onAgain={loaded.again} />
}
