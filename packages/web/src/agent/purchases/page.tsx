import type { Purchase } from '@pohf/protocol'
import { CopyId } from '../../shared/design/copy-id.tsx'
import type { Api } from '../../shared/api/client.ts'
import { Drawer } from '../../shared/design/drawer.tsx'
import { useQuery } from '../../shared/api/use-query.ts'
import { Skeleton, Commands, ErrorNote } from '../../shared/design/components.tsx'
import { PageHead } from '../../shared/design/page-head.tsx'
import { hrefOf } from '../../shared/shell/router.ts'
import { formatMilliseconds } from '../../shared/design/duration.ts'
import { Moment } from '../../shared/design/moment.tsx'
import { formatUtc } from '../../shared/design/time.ts'
import {
  formatTokenAmount,
  purchasesHeadline,
  purchaseStatusText,
  purchaseStatusLabels,
} from '../../shared/purchases/messages.ts'

type Page = { readonly purchases: readonly Purchase[]; readonly nextCursor: string | null }

const buyCommands = (origin: string): string => `export POHF_KEY=svc_test_…
export PAYER_PRIVATE_KEY=0x…
npx pohf buy wf_test_ok \\
  --url ${origin}`
const askCommands = (origin: string): string => `curl -si ${origin}/api/agent/tasks/wf_test_ok/buy \\
  -H "Authorization: Bearer $POHF_KEY"`

const Empty = () => (
  <div class="two">
    <section class="card pad" aria-labelledby="buy">
      <h2 class="h3" id="buy">
        Buy one unit
      </h2>
      <p class="muted gap">
        An agent with a wallet pays and gets the answer of a person with its credential.
      </p>
      <Commands text={buyCommands(location.origin)} label="Command that buys" />
    </section>
    <section class="card pad" aria-labelledby="ask">
      <h2 class="h3" id="ask">
        Or read the price
      </h2>
      <p class="muted gap">The response is 402 with the price and how to pay. This call charges nothing.</p>
      <Commands text={askCommands(location.origin)} label="Command that asks for the price" />
    </section>
  </div>
)

const Row = ({ purchase, href, now }: { purchase: Purchase; href: string; now: number }) => {
  const { word, tone } = purchaseStatusLabels[purchase.status]
  return (
    <tr>
      <th scope="row" class="address">
        <a href={href}>{purchase.workflowId}</a>
      </th>
      <td>
        <span class={`chip ${tone}`}>{word}</span>
      </td>
      <td class="num">{formatTokenAmount(purchase.amount)}</td>
      <td class="wide-only">
        {purchase.transaction === null ? '–' : <CopyId value={purchase.transaction} label="transaction" />}
      </td>
      <td class="wide-only">
        {purchase.credentialId === null ? '–' : <CopyId value={purchase.credentialId} label="credential" />}
      </td>
      <td class="wide-only">
        <Moment at={purchase.createdAt} now={now} />
      </td>
    </tr>
  )
}

const QuestionFact = ({ questionId }: Pick<Purchase, 'questionId'>) =>
  questionId === null ? null : (
    <div>
      <dt>Question</dt>
      <dd>
        <CopyId value={questionId} label="question" />
      </dd>
    </div>
  )

const Facts = ({ purchase }: { purchase: Purchase }) => (
  <dl class="facts">
    <div>
      <dt>Amount</dt>
      <dd class="num">{formatTokenAmount(purchase.amount)} USDC</dd>
    </div>
    <QuestionFact questionId={purchase.questionId} />
    <div>
      <dt>Network</dt>
      <dd>{purchase.network}</dd>
    </div>
    <div>
      <dt>Transaction</dt>
      <dd>
        {purchase.transaction === null ? (
          'none yet'
        ) : (
          <CopyId value={purchase.transaction} label="transaction" />
        )}
      </dd>
    </div>
    <div>
      <dt>Paid by</dt>
      <dd>
        <CopyId value={purchase.payer} label="payer" />
      </dd>
    </div>
    <div>
      <dt>Credential</dt>
      <dd>
        {purchase.credentialId === null ? (
          'none'
        ) : (
          <CopyId value={purchase.credentialId} label="credential" />
        )}
      </dd>
    </div>
    <div>
      <dt>Purchase</dt>
      <dd>
        <CopyId value={purchase.purchaseId} label="purchase" />
      </dd>
    </div>
    <div>
      <dt>Begun</dt>
      <dd class="num">{formatUtc(purchase.createdAt)}</dd>
    </div>
    <div>
      <dt>Last change</dt>
      <dd class="num">
        {formatUtc(purchase.updatedAt)},{' '}
        {formatMilliseconds(Date.parse(purchase.updatedAt) - Date.parse(purchase.createdAt))} later
      </dd>
    </div>
  </dl>
)

const PurchaseDrawer = ({ purchase, onClose }: { purchase: Purchase; onClose: () => void }) => {
  const { word, tone } = purchaseStatusLabels[purchase.status]
  const statusUrl = `${location.origin}/api/agent/purchases/${purchase.purchaseId}`
  return (
    <Drawer
      title={
        <>
          {purchase.workflowId} <span class={`chip ${tone}`}>{word}</span>
        </>
      }
      onClose={onClose}
    >
      <p class="muted">{purchaseStatusText(purchase)}</p>
      {purchase.reason === null ? null : (
        <p class="note warn">
          Why: <code>{purchase.reason}</code>
        </p>
      )}
      <Facts purchase={purchase} />
      <section aria-labelledby="again">
        <h3 id="again">Read this purchase</h3>
        <p class="muted">
          The state is public. The answer and the credential are returned only for the whole purchase id,
          which is a secret, or with a proof by the wallet that paid.
        </p>
        <Commands text={`curl -s ${statusUrl}`} label="Command that reads the purchase" />
      </section>
    </Drawer>
  )
}

const PurchaseTable = (props: { purchases: readonly Purchase[]; hrefOfPurchase: (id: string) => string }) => {
  const now = Date.now()
  return (
    <section class="card pad" aria-label="Purchases">
      <table>
        <thead>
          <tr>
            <th scope="col">Workflow</th>
            <th scope="col">State</th>
            <th scope="col" class="num">
              USDC
            </th>
            <th scope="col" class="wide-only">
              Transaction
            </th>
            <th scope="col" class="wide-only">
              Credential
            </th>
            <th scope="col" class="wide-only">
              Begun, UTC
            </th>
          </tr>
        </thead>
        <tbody>
          {props.purchases.map((one) => (
            <Row key={one.purchaseId} purchase={one} href={props.hrefOfPurchase(one.purchaseId)} now={now} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Page "Purchases": what was bought over HTTP 402 with this key. */
export const PurchasesPage = ({ api, query }: { api: Api; query: URLSearchParams }) => {
  const cursor = query.get('cursor') ?? undefined
  const chosen = query.get('purchase')
  const parameters = new URLSearchParams({ limit: '100', ...(cursor === undefined ? {} : { cursor }) })
  const address = `/api/agents/purchases?${parameters.toString()}`
  const loaded = useQuery(() => api.call<Page>('GET', address), address)
  const page = loaded.value
  const purchase = page?.purchases.find(({ purchaseId }) => purchaseId === chosen)
  return (
    <>
      <PageHead name="Purchases" finding={page ? purchasesHeadline(page.purchases) : undefined}>
        What agents with a wallet bought over HTTP 402, with keys of this agent.
      </PageHead>
      {loaded.error ? <ErrorNote error={loaded.error} onRetry={loaded.refetch} /> : null}
      {page === undefined && loaded.slow ? <Skeleton /> : null}
      {page && page.purchases.length === 0 ? <Empty /> : null}
      {page && page.purchases.length > 0 ? (
        <PurchaseTable
          purchases={page.purchases}
          hrefOfPurchase={(id) => hrefOf(['purchases'], { cursor, purchase: id })}
        />
      ) : null}
      {page && page.nextCursor !== null ? (
        <p class="gap">
          <a class="btn" href={hrefOf(['purchases'], { cursor: page.nextCursor })}>
            Show older purchases
          </a>
        </p>
      ) : null}
      {purchase ? (
        <PurchaseDrawer
          key={purchase.purchaseId}
          purchase={purchase}
          onClose={() => (location.hash = hrefOf(['purchases'], { cursor }))}
        />
      ) : null}
    </>
  )
}
