import { formatDuration } from '../../shared/design/duration.ts'
import { Moment } from '../../shared/design/moment.tsx'
import { timeUntil } from '../../shared/design/time.ts'
import type { Overview } from '../wire.ts'
import { checkNames, formatBounded, keyEndsSoonDays, queueLateSeconds, queueNames } from './messages.ts'

const Sign = ({ ok }: { ok: boolean }) => (
  <span class={`chip ${ok ? 'ok' : 'stop'}`}>{ok ? 'good' : 'failing'}</span>
)

/** The checks of the service and of its worker. */
export const ChecksCard = ({ overview, now }: { overview: Overview; now: number }) => (
  <section class="card pad" aria-labelledby="checks">
    <h2 class="h3" id="checks">
      Checks
    </h2>
    <ul class="plainlist lines">
      {overview.checks.map(({ name, ok }) => (
        <li key={name} class="spread">
          {checkNames[name] ?? name}
          <Sign ok={ok} />
        </li>
      ))}
      <li class="spread">
        <span>
          Worker
          {overview.worker.ok ? null : (
            <span class="small muted block">
              Last seen <Moment at={overview.worker.seenAt} now={now} />
            </span>
          )}
        </span>
        <Sign ok={overview.worker.ok} />
      </li>
    </ul>
  </section>
)

const isLate = ({ oldestSeconds }: Overview['queues'][number]): boolean =>
  oldestSeconds !== null && oldestSeconds > queueLateSeconds

/** What the worker has not done yet. */
export const QueuesCard = ({ overview }: { overview: Overview }) => (
  <section class="card pad" aria-labelledby="queues">
    <h2 class="h3" id="queues">
      Queues
    </h2>
    <table>
      <thead>
        <tr>
          <th scope="col">Queue</th>
          <th scope="col" class="num">
            Waiting
          </th>
          <th scope="col" class="num">
            Oldest
          </th>
        </tr>
      </thead>
      <tbody>
        {overview.queues.map((queue) => (
          <tr key={queue.name}>
            <th scope="row">{queueNames[queue.name]}</th>
            <td class="num">{formatBounded(queue.waiting)}</td>
            <td class={`num ${isLate(queue) ? 'bad' : ''}`}>
              {queue.waiting === 0 || queue.oldestSeconds === null
                ? '–'
                : formatDuration(queue.oldestSeconds)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
    {overview.mailServer ? null : (
      <p class="small muted gap">
        No mail server is configured, so mails wait. Set <code>SMTP_URL</code> and restart.
      </p>
    )}
    {overview.gasKeys.total === 0 ? null : (
      <p class="small muted gap">
        Gas keys: {formatBounded(overview.gasKeys.total)}, of which {formatBounded(overview.gasKeys.low)} have
        too little for a transaction.
      </p>
    )}
  </section>
)

const dayMs = 86_400_000

/** Until when the keys sign. */
export const KeysCard = ({ overview, now }: { overview: Overview; now: number }) => (
  <section class="card pad" aria-labelledby="signing">
    <h2 class="h3" id="signing">
      Signing keys
    </h2>
    {overview.keys === null ? (
      <p class="bad gap">
        No signer answers. Start one: <code>node packages/server/src/main.ts signer</code>
      </p>
    ) : (
      <table>
        <thead>
          <tr>
            <th scope="col">Purpose</th>
            <th scope="col">Signs until, UTC</th>
          </tr>
        </thead>
        <tbody>
          {overview.keys.map(({ signer, purpose, activeUntil }) => (
            <tr key={`${signer} ${purpose}`}>
              <th scope="row">{purpose}</th>
              <td>
                <time class="moment" dateTime={activeUntil}>
                  <span class="num">{activeUntil.slice(0, 16).replace('T', ' ')}</span>{' '}
                  <span
                    class={
                      Date.parse(activeUntil) - now < keyEndsSoonDays * dayMs ? 'bad small' : 'faint small'
                    }
                  >
                    {timeUntil(activeUntil, now)}
                  </span>
                </time>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
    <p class="gap">
      <a href="#/keys">All signing keys</a>
    </p>
  </section>
)
