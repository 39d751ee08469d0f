import { Commands } from '../../shared/design/components.tsx'
import type { ChecklistStep } from './checklist.ts'

const StepItem = ({ step, isNext }: { step: ChecklistStep; isNext: boolean }) => (
  <li class={step.isDone ? 'done' : isNext ? 'next' : ''}>
    <span class="tick" aria-hidden="true">
      {step.isDone ? '✓' : ''}
    </span>
    <div>
      <b>{step.title}</b>
      {step.isDone ? <span class="hidden"> (done)</span> : null}
      <p class="muted small">{step.note}</p>
      {!step.isDone && isNext && step.commands !== undefined ? (
        <Commands text={step.commands} label="Command for a live key" />
      ) : null}
    </div>
    {step.isDone || step.action === undefined ? null : (
      <a class={`btn ${isNext ? 'main' : ''}`} href={step.action.href}>
        {step.action.text}
      </a>
    )}
  </li>
)

const StepList = ({ steps }: { steps: readonly ChecklistStep[] }) => {
  const next = steps.find(({ isDone }) => !isDone)
  return (
    <ol class="checklist">
      {steps.map((step) => (
        <StepItem key={step.id} step={step} isNext={step === next} />
      ))}
    </ol>
  )
}

/** The way to the first live credential. Once that is there it is one line. */
export const ChecklistCard = ({ steps }: { steps: readonly ChecklistStep[] }) => {
  const done = steps.filter(({ isDone }) => isDone).length
  const isLive = steps.some(({ id, isDone }) => id === 'live' && isDone)
  if (isLive)
    return (
      <details class="card folded">
        <summary>
          You are live: {done} of {steps.length} steps done
        </summary>
        <StepList steps={steps} />
      </details>
    )
  return (
    <section class="card pad" aria-labelledby="go-live">
      <h2 class="h3" id="go-live">
        Go live: {done} of {steps.length} steps done
      </h2>
      <progress class="hidden" max={steps.length} value={done} aria-label="Steps done" />
      <div class="progress" aria-hidden="true" style={{ '--v': `${(100 * done) / steps.length}%` }} />
      <StepList steps={steps} />
    </section>
  )
}
