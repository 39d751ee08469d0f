import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { ActionResult } from '../../shared/design/components.tsx'
import type { AgentProfile } from '../wire.ts'

const linesOf = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .map((line) => line.trim().replace(/\/+$/, '').toLowerCase())
    .filter((line) => line !== '')

/** Which sites may open sessions for this agent. */
export const OriginsForm = (props: { api: Api; profile: AgentProfile; onSaved: () => void }) => {
  const { api, profile } = props
  const [text, setText] = useState(profile.allowedOrigins.join('\n'))
  const action = useAction(props.onSaved)
  const origins = linesOf(text)
  const isSaved = origins.join() === profile.allowedOrigins.join()
  return (
    <section class="card pad" aria-labelledby="origins">
      <h2 class="h3" id="origins">
        2. Name your sites
      </h2>
      <p class="muted gap">
        {profile.allowedOrigins.length === 0
          ? 'Any site may use your agent id now, and its sessions would be charged to you.'
          : 'Only pages of these origins can open sessions for your agent.'}
      </p>
      <form
        class="paste"
        onSubmit={(event) => {
          event.preventDefault()
          void action.run('Saved.', () => api.call('PATCH', '/api/agents/me', { allowedOrigins: origins }))
        }}
      >
        <label for="origins-text">
          Allowed origins <span class="faint">one on each line</span>
        </label>
        <textarea
          id="origins-text"
          rows={3}
          spellcheck={false}
          placeholder="https://shop.example"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <ActionResult message={action.message} error={action.error} />
        <p>
          <button class="btn main" type="submit" disabled={action.busy || isSaved}>
            {origins.length === 0
              ? isSaved
                ? 'Save'
                : 'Allow any site'
              : `Allow ${origins.length === 1 ? 'this site' : `these ${origins.length} sites`}`}
          </button>
        </p>
      </form>
    </section>
  )
}
