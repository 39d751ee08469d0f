import type { Api, Mode } from '../api/client.ts'

const labels: Readonly<Record<Api['mode'], readonly [word: string, tone: string]>> = {
  test: ['Test mode', 'test'],
  live: ['Live mode', 'ok'],
  operator: ['Operator', 'warn'],
}
const names: Readonly<Record<Mode, string>> = { test: 'Test', live: 'Live' }

/** Whether the page shows test or live data. A person of an account switches; a key has one mode. */
export const ModeMark = ({ api }: { api: Api }) => {
  const { account } = api
  const [word, tone] = labels[api.mode]
  if (!account)
    return (
      <p class="mode">
        <span class={`chip ${tone}`}>{word}</span>
      </p>
    )
  return (
    <fieldset class="mode switch">
      <legend class="hidden">Mode</legend>
      {account.modes.map((mode) => (
        <label key={mode} class={mode}>
          <input
            type="radio"
            name="mode"
            checked={mode === api.mode}
            onChange={() => account.switchTo(mode)}
          />
          <span>{names[mode]}</span>
        </label>
      ))}
    </fieldset>
  )
}
