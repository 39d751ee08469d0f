import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, BrowserContext } from 'playwright-core'
import type { AgentRemote } from '../../command/agent.ts'
import { UsageError } from '../../command/errors.ts'
import { exitCodes } from '../../command/exit-codes.ts'
import { printAnswer } from '../../command/output.ts'
import { withProgress } from '../../command/progress.ts'
import { hasSandbox, launchChromium } from './browser.ts'
import { controlFindings, keyFindings } from './control-findings.ts'
import { printable, problem, type Finding } from './finding.ts'
import { pageFindings } from './page-findings.ts'
import { scriptFindings } from './script-findings.ts'
import { askServices } from './service.ts'
import { visitFindings } from './visit-findings.ts'
import { visitPage, type Limits } from './visit.ts'

type CheckOptions = AgentRemote & { readonly wait: string }
export type Report = { readonly url: string; readonly ok: boolean; readonly findings: readonly Finding[] }

const loadMs = 30_000
const answerMs = 5_000
const waitSecondsMax = 30
const desktop = { width: 1_280, height: 800 }
/** The second load is on a narrow screen: one more load would find no more. */
const phone = { width: 360, height: 740 }

const findAll = async (
  context: BrowserContext,
  url: string,
  limits: Limits,
  remote: AgentRemote,
): Promise<Finding[]> => {
  context.on('page', (opened) => {
    // Windows that the page opens.
    void opened.opener().then(
      (opener) => opener && opened.close(),
      () => undefined,
    )
  })
  const page = await context.newPage()
  const opened = await visitPage(page, url, { ...limits, viewport: desktop })
  const { visit } = opened
  if (visit.frames.length === 0) return pageFindings(url, visit, undefined)
  const facts = await askServices(opened, remote)
  const visits = await visitFindings(opened)
  // If no check appeared at the first load, the second load does not wait for one.
  const waitMs = visit.frames.some(({ controls }) => controls.length > 0) ? limits.waitMs : 0
  const again = await visitPage(page, url, { ...limits, waitMs, viewport: phone })
  const second = again.visit.failure === null ? again.visit : undefined
  return [
    ...pageFindings(url, visit, second),
    ...scriptFindings(visit, facts, new URL(remote.url).origin),
    ...controlFindings(visit, second, facts),
    ...visits,
    ...keyFindings(facts, new URL(remote.url).origin),
  ]
}

/** A limit for the whole command. Each step has its own; this one ends anything that they do not cover. */
const totalMsOf = ({ loadMs: load, waitMs }: Limits): number => 2 * (load + waitMs) + 60_000

/** Loads a page twice in a new profile and says what it found. Nothing is submitted, no question is answered. */
export const inspectPage = async (
  browser: Browser,
  url: string,
  limits: Limits,
  remote: AgentRemote,
): Promise<Report> => {
  // Both loads share it, so that a service worker of the first is seen in the second.
  const context = await browser.newContext({ acceptDownloads: false, serviceWorkers: 'allow' })
  const late = sleep(totalMsOf(limits), undefined, { ref: false }).then(() => {
    throw new Error('it took too long')
  })
  const findings = await Promise.race([findAll(context, url, limits, remote), late]).catch(
    (error: unknown) => {
      const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n')
      return [
        problem(
          'page',
          `The browser could not read the page: ${reason}.`,
          'Open the page in a browser yourself.',
        ),
      ]
    },
  )
  await Promise.race([context.close(), sleep(5_000, undefined, { ref: false })])
  return { url: printable(url), ok: findings.every(({ level }) => level !== 'problem'), findings }
}

const marks = { ok: '✓', warning: '!', problem: '✗' } as const

const print = ({ findings }: Report): void => {
  for (const { level, check, message, hint } of findings) {
    console.log(`${marks[level]} ${check.padEnd(14)} ${message}`)
    if (hint !== null) console.log(`  ${''.padEnd(14)} ${hint}`)
  }
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length
  console.log(`\nProblems: ${count('problem')}. Warnings: ${count('warning')}.`)
}

const readOptions = (url: string, { wait }: CheckOptions): Limits => {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError('Give the address of a page, with http:// or https://.')
  const seconds = wait.trim() === '' ? Number.NaN : Number(wait)
  if (!(seconds >= 0 && seconds <= waitSecondsMax))
    throw new UsageError(`--wait must be a number of seconds from 0 to ${waitSecondsMax}.`)
  return { loadMs, answerMs, waitMs: seconds * 1_000 }
}

const inspectInChromium = async (url: string, limits: Limits, options: AgentRemote): Promise<Report> => {
  const browser = await launchChromium()
  try {
    return await inspectPage(browser, url, limits, options)
  } finally {
    await browser.close()
  }
}

/** `pohf tag check`. */
export const checkTag = async (url: string, options: CheckOptions): Promise<void> => {
  const limits = readOptions(url, options)
  if (!hasSandbox)
    console.error(
      'Chromium runs without its sandbox, because this is root. Use another account for pages that you do not trust.',
    )
  const report = await withProgress(`loading ${printable(url)}`, () =>
    inspectInChromium(url, limits, options),
  )
  printAnswer(options, report, () => print(report))
  if (!report.ok) process.exitCode = exitCodes.refused
}
