import type { Command } from 'commander'
import type { CommandGroup } from '../command/help.ts'
import { addAgent } from '../command/options.ts'

const loadOrders = () => import('./orders.ts')

const addCreate = (orders: Command): void => {
  addAgent(
    orders,
    'create <taskType> <quantity>',
    'order verified human work: the id of a workflow, a category or any other text, and the number of units',
    'orders create wf_text_review 2 --items texts.txt --max-price-usd 5',
    'orders create wf_text_review 1 --fund --json',
  )
    .option('--max-price-usd <amount>', 'the most that the whole order may cost, in US dollars')
    .option('--items <file>', 'inputs: a JSON array, or one item on each line; - reads standard input')
    .option('--instructions <text>', 'instructions for the workers')
    .option('--callback-ref <text>', 'your own reference')
    .option('--idempotency-key <key>', 'repeat the command with the same key and it acts once')
    .option('--fund', 'also get the checkout that funds it; with a test key it is funded at once')
    .action(async (taskType: string, quantity: string, options) =>
      (await loadOrders()).create(taskType, quantity, options),
    )
  addAgent(
    orders,
    'fund <orderId>',
    'get the checkout that funds an order; with a test key it is funded at once',
    'orders fund ord_0123',
  ).action(async (orderId: string, options) => (await loadOrders()).fund(orderId, options))
}

const addOrders = (program: Command): void => {
  const orders = program.command('orders').description('order verified human work and read its results')
  addCreate(orders)
  addAgent(orders, 'list', 'list your orders, newest first', 'orders list --status delivered')
    .option('--status <status>', 'only orders in this state')
    .action(async (options) => (await loadOrders()).list(options))
  addAgent(orders, 'show <orderId>', 'show one order', 'orders show ord_0123').action(
    async (orderId: string, options) => (await loadOrders()).read(orderId, options),
  )
  addAgent(
    orders,
    'results <orderId>',
    'print the answers, one line for each unit',
    'orders results ord_0123 --csv > results.csv',
  )
    .option('--csv', 'print CSV, with the credentials')
    .action(async (orderId: string, options) => (await loadOrders()).results(orderId, options))
  addAgent(
    orders,
    'accept <orderId> <n>',
    'accept a delivered unit; the worker is paid',
    'orders accept ord_0123 1',
  ).action(async (orderId: string, n: string, options) => (await loadOrders()).accept(orderId, n, options))
  addAgent(
    orders,
    'reject <orderId> <n>',
    'reject a delivered unit; the worker may appeal',
    "orders reject ord_0123 2 --reason incomplete --note 'One sentence only.'",
  )
    .requiredOption(
      '--reason <reason>',
      'wrong_answer, instructions_not_followed, incomplete, low_effort or other',
    )
    .option('--note <text>', 'note for the worker')
    .action(async (orderId: string, n: string, options) => (await loadOrders()).reject(orderId, n, options))
  addAgent(
    orders,
    'cancel <orderId>',
    'cancel the units that no worker has claimed',
    'orders cancel ord_0123',
  ).action(async (orderId: string, options) => (await loadOrders()).cancel(orderId, options))
}

const addBuy = (program: Command): void => {
  addAgent(
    program,
    'buy [workflowId]',
    'buy a verified unit with a wallet; see docs/guides/buy.md',
    'buy wf_test_ok --max-usd 0.05 --key-file wallet.key',
    "buy --resume 'pur_0123'",
  )
    .option('--max-usd <amount>', 'maximum price in US dollars', '0.10')
    .option('--key-file <file>', 'file with the private key of the wallet; default: PAYER_PRIVATE_KEY')
    .option('--network <name>', 'pay only on this network: base or base-sepolia')
    .option('--pay-to <address>', 'pay only this address')
    .option('--issuer <url>', 'issuer of the credentials; default: --url')
    .option('--wait <seconds>', 'maximum time to wait for settlement', '180')
    .option('--resume <purchaseId>', 'read the result of an open purchase; signs nothing')
    .action(async (workflowId: string | undefined, options) =>
      (await import('./buy.ts')).buy(workflowId, options),
    )
}

const addAsk = (program: Command): void => {
  addAgent(
    program,
    'ask <question>',
    'ask a person one question; see docs/guides/ask-human.md',
    "ask 'Is this sentence polite: Send it now.' --budget 1 --wait",
    "ask 'Is tea a soup?' --budget 1 --pay x402 --key-file wallet.key --wait",
    "ask 'Which is friendlier?' --schema answer.json --budget 1 --simulate --wait --json",
  )
    .requiredOption('--budget <amount>', 'the most that it may cost, in US dollars')
    .option('--schema <file>', 'JSON Schema of the answer; - reads standard input. Default: a text')
    .option(
      '--deadline <time>',
      'when it ends without an answer, such as 2026-12-31T12:00:00Z. Default: in a day',
    )
    .option('--wait', 'wait until it is answered or ends')
    .option('--pay <how>', 'x402: pay it with a wallet, over HTTP 402')
    .option('--key-file <file>', 'file with the private key of the wallet; default: PAYER_PRIVATE_KEY')
    .option('--network <name>', 'pay only on this network: base or base-sepolia')
    .option('--pay-to <address>', 'pay only this address')
    .option('--simulate', 'with a test key: a simulated worker answers at once')
    .option('--idempotency-key <key>', 'repeat the command with the same key and it acts once')
    .action(async (question: string, options) => (await import('./ask.ts')).ask(question, options))
  addAgent(program, 'question <questionId>', 'show a question and its answer', 'question ord_0123').action(
    async (questionId: string, options) => (await import('./ask.ts')).read(questionId, options),
  )
}

/** Human work: ordered with a key, or bought with a wallet. */
export const purchasesGroup: CommandGroup = {
  name: 'purchases',
  title: 'Purchases: verified human work, ordered with your key or bought with a wallet',
  examples: [
    'orders create wf_text_review 2 --items texts.txt',
    'orders results ord_0123',
    'buy wf_test_ok --max-usd 0.05 --key-file wallet.key',
    "ask 'Is tea a soup?' --budget 1 --wait",
  ],
  add: (program) => {
    addOrders(program)
    addBuy(program)
    addAsk(program)
  },
}
