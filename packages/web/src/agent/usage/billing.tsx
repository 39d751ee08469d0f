import type { PackName } from '@pohf/protocol'
import { useState } from 'preact/hooks'
import type { Api } from '../../shared/api/client.ts'
import { useAction } from '../../shared/api/use-action.ts'
import { ActionResult } from '../../shared/design/components.tsx'
import { formatUtc } from '../../shared/design/time.ts'
import { formatCount } from '../../shared/plots/scale.ts'
import type { Balance } from '../wire.ts'

const BalanceFacts = ({ balance }: { balance: Balance }) => (
  <dl class="facts">
    <div>
      <dt>Credits</dt>
      <dd class="num">{formatCount(balance.balance)}</dd>
    </div>
    <div>
      <dt>Free this month</dt>
      <dd class="num">{formatCount(balance.freeRemaining)}</dd>
    </div>
    <div>
      <dt>Free ones renew</dt>
      <dd class="num">{formatUtc(balance.freeResetsAt)}</dd>
    </div>
    <div>
      <dt>Bought in all</dt>
      <dd class="num">{formatCount(balance.lifetimePurchased)}</dd>
    </div>
    <div>
      <dt>Spent in all</dt>
      <dd class="num">{formatCount(balance.lifetimeConsumed)}</dd>
    </div>
  </dl>
)

/** A payment page, and what was bought before it: afterwards it leads nowhere. */
type Checkout = { readonly pack: PackName; readonly url: string; readonly boughtBefore: number }

const PackList = ({ api, balance, onBought }: { api: Api; balance: Balance; onBought: () => void }) => {
  const [checkout, setCheckout] = useState<Checkout>()
  const action = useAction(onBought)
  const isTest = api.mode === 'test'
  const buy = (pack: PackName) =>
    void action.run(
      isTest ? 'The pack was added. Nothing was charged.' : 'The payment page is ready.',
      async () => {
        const made = await api.call<{ checkoutUrl: string }>('POST', '/api/agents/credits/buy', { pack })
        if (!isTest) setCheckout({ pack, url: made.checkoutUrl, boughtBefore: balance.lifetimePurchased })
      },
    )
  const isOpen = checkout?.boughtBefore === balance.lifetimePurchased
  return (
    <>
      <ActionResult message={isTest || isOpen ? action.message : ''} error={action.error} />
      <ul class="plainlist packs">
        {balance.packs.map(({ pack, credits, priceUsd }) => (
          <li key={pack}>
            <span>
              <b class="num">{formatCount(credits)}</b> credits
              <span class="small muted block num">{((priceUsd * 100) / credits).toFixed(0)} cents each</span>
            </span>
            {isOpen && checkout?.pack === pack ? (
              <a class="btn main" href={checkout.url} target="_blank" rel="noopener noreferrer">
                Open the payment page<span class="hidden"> in a new tab</span>
              </a>
            ) : (
              <button type="button" class="btn" disabled={action.busy} onClick={() => buy(pack)}>
                {isTest ? 'Add without payment' : `Buy for ${formatCount(priceUsd)} USD`}
                <span class="hidden">: {pack}</span>
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}

const DisputeList = ({ disputes }: Pick<Balance, 'disputes'>) => (
  <section class="card pad" aria-labelledby="disputes">
    <h2 class="h3" id="disputes">
      Disputed payments
    </h2>
    <p class="muted gap">
      A dispute suspends the credentials that its pack paid for. They are revoked if it is lost, and
      reinstated if it is won.
    </p>
    <ul class="plainlist">
      {disputes.map(({ checkoutId, pack, state, disputedAt, suspended, revoked, isDone }) => (
        <li key={checkoutId}>
          <span>
            <b>{pack}</b>: {state}
            {isDone ? '' : ', credentials are being changed'}
            <span class="small muted block num">
              {formatUtc(disputedAt)} · {formatCount(suspended)} suspended, {formatCount(revoked)} revoked
            </span>
          </span>
        </li>
      ))}
    </ul>
  </section>
)

/** The credits, and the packs on sale. */
export const BillingCards = (props: { api: Api; balance: Balance; onBought: () => void }) => (
  <>
    <section class="card pad" aria-labelledby="balance">
      <h2 class="h3" id="balance">
        Balance
      </h2>
      <BalanceFacts balance={props.balance} />
    </section>
    <section class="card pad" aria-labelledby="packs">
      <h2 class="h3" id="packs">
        Buy credits
      </h2>
      <p class="muted gap">A verification costs one credit. Refused sessions cost nothing.</p>
      <PackList {...props} />
    </section>
    {props.balance.disputes.length > 0 && <DisputeList disputes={props.balance.disputes} />}
  </>
)
