import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { compareOutput } from './expected-output.ts'
import { repositoryRoot } from './markdown.ts'
import { planPage, type Ports, type Step } from './plan-page.ts'

export type RunOptions = {
  readonly ports: Ports
  /** The folder `.pohf` of the server, with `dev.env`. */
  readonly dataDir?: string
  readonly timeoutMs?: number
  /** Variables of the reader's shell. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** A clone to run in, instead of a folder that looks like one. There, blocks marked `no-run` run too, and npx is npm's. */
  readonly clone?: string
}
type PageResult = {
  readonly run: number
  readonly saved: number
  readonly notRun: number
  /** When each block that ran in the shell of the page began, in seconds, and the end of the last. */
  readonly times: readonly { readonly line: number | undefined; readonly at: number }[]
}

/**
 * Programs that stand before the real ones. curl: an answer of 400 or above fails unless the block announces it. npx: the
 * program of this checkout without the start of npm, which takes a second; runner.test.ts runs the real one.
 */
const programs = {
  curl: `#!/usr/bin/env bash
errors=$(mktemp)
code=0
/usr/bin/env PATH="$READER_PATH" curl --fail-with-body --silent --show-error "$@" 2>"$errors" || code=$?
status=$(sed -n 's/.*returned error: \\([0-9]*\\).*/\\1/p' "$errors")
if [ $code = 22 ] && [[ " $EXPECTED_STATUSES " == *" $status "* ]]; then
  touch "$SESSION_FOLDER/seen-$status"
  code=0
else
  cat "$errors" >&2
fi
rm "$errors"
exit $code
`,
  npx: `#!/usr/bin/env bash
program=$1
shift
exec "node_modules/.bin/$program" "$@"
`,
}

/** Shell functions of the session: `begin` marks where a block begins, `terminal` starts a block in a second shell. */
const prelude = `set -euo pipefail
begin() {
  printf '\\036%s\\n' "$1"
  echo "$1 $(date +%s.%N)" >>"$SESSION_FOLDER/times"
  export EXPECTED_STATUSES="$2"
  rm -f "$SESSION_FOLDER"/seen-*
}
finish() {
  local status
  for status in $EXPECTED_STATUSES; do
    [ -e "$SESSION_FOLDER/seen-$status" ] || { echo "no call answered $status"; exit 1; }
  done
}
terminal() {
  local log="$SESSION_FOLDER/terminal-$1.log"
  : >"$log"
  (
    code=0
    env -i HOME="$HOME" PATH="$PATH" READER_PATH="$READER_PATH" SESSION_FOLDER="$SESSION_FOLDER" EXPECTED_STATUSES= \\
      \${NODE_COMPILE_CACHE:+NODE_COMPILE_CACHE="$NODE_COMPILE_CACHE"} \\
      bash -euo pipefail "$SESSION_FOLDER/$1.sh" >"$log" 2>&1 || code=$?
    echo $code >"$SESSION_FOLDER/terminal-$1.code.part"
    mv "$SESSION_FOLDER/terminal-$1.code.part" "$SESSION_FOLDER/terminal-$1.code"
  ) &
  for _ in $(seq 300); do
    [ -s "$log" ] && return
    [ -e "$SESSION_FOLDER/terminal-$1.code" ] && break
    sleep 0.1
  done
  [ -s "$log" ] || { echo 'the second terminal printed nothing'; exit 1; }
}
`

/** Writes the session's script: each block is a file of its own that the one shell of the page reads. */
const writeSession = (
  steps: readonly Step[],
  session: string,
  folder: string,
  names: readonly (keyof typeof programs)[],
): void => {
  const lines = steps.map((step, index) => {
    if (step.kind === 'no-run') return ''
    const path = step.file === undefined ? join(session, `${index}.sh`) : join(folder, step.file)
    writeFileSync(path, step.code)
    if (step.kind === 'save') return ''
    const begin = `begin ${index} '${step.statuses.join(' ')}'`
    return step.kind === 'terminal' ? `${begin}\nterminal ${index}` : `${begin}\nsource '${path}'\nfinish`
  })
  writeFileSync(join(session, 'session.sh'), `${prelude}${lines.join('\n')}\nbegin end ''\n`)
  const bin = join(session, 'bin')
  mkdirSync(bin)
  for (const name of names) {
    writeFileSync(join(bin, name), programs[name])
    chmodSync(join(bin, name), 0o755)
  }
}

/** What each block printed, by its number. */
const outputsOf = (printed: string): Map<string, string> =>
  new Map(
    printed
      .split('\u001E')
      .slice(1)
      .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]),
  )

const stopGroup = (child: ChildProcess): void => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // Nothing is left of the group.
  }
}

/** Runs the session in a process group of its own. Second terminals are in the group and run on after it. */
const startSession = (
  session: string,
  folder: string,
  environment: RunOptions['environment'],
): ChildProcess => {
  // npm adds node_modules/.bin, which the reader's shell does not have.
  const own = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((path) => !path.endsWith('node_modules/.bin'))
  const readerPath = [dirname(process.execPath), ...own].join(delimiter)
  // A file and not a pipe: programs in the background keep a pipe open.
  const output = openSync(join(session, 'output.log'), 'w')
  const child = spawn('bash', [join(session, 'session.sh')], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', output, output],
    env: {
      HOME: folder,
      READER_PATH: readerPath,
      PATH: [join(session, 'bin'), readerPath].join(delimiter),
      SESSION_FOLDER: session,
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      ...environment,
    },
  })
  closeSync(output)
  return child
}

/** Compares what a second terminal printed with the page. An event may be on its way, so it waits up to 15 s. */
const checkTerminal = async (step: Step, session: string, index: number): Promise<string | undefined> => {
  const output = () => readFileSync(join(session, `terminal-${index}.log`), 'utf8')
  const codeFile = join(session, `terminal-${index}.code`)
  const code = existsSync(codeFile) ? readFileSync(codeFile, 'utf8').trim() : '0'
  if (code !== '0') return `ended with ${code}:\n${output()}`
  const { expected } = step
  if (!expected) return undefined
  let missing = compareOutput(expected, output())
  for (let look = 0; missing !== undefined && look < 150; look++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    missing = compareOutput(expected, output())
  }
  return missing === undefined ? undefined : `the page shows what was not printed: ${missing}\n${output()}`
}

/** The first block that failed, and what it printed. */
const findFault = async (
  steps: readonly Step[],
  printed: string,
  session: string,
): Promise<string | undefined> => {
  const outputs = outputsOf(printed)
  if (!outputs.has('end')) {
    const [last, output] = [...outputs].at(-1) ?? []
    return `line ${steps[Number(last)]?.line}: failed\n${output ?? printed}`
  }
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'terminal') {
      const fault = await checkTerminal(step, session, index)
      if (fault !== undefined) return `line ${step.line}: ${fault}`
    }
    const output = outputs.get(String(index)) ?? ''
    const missing = step.kind === 'run' && step.expected ? compareOutput(step.expected, output) : undefined
    if (missing !== undefined)
      return `line ${step.line}: the page shows what was not printed: ${missing}\n${output}`
  }
  return undefined
}

const readTimes = (steps: readonly Step[], session: string): PageResult['times'] =>
  readFileSync(join(session, 'times'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([index, at]) => ({ line: steps[Number(index)]?.line, at: Number(at) }))

/** A folder like the checkout of a reader: `npx pohf`, the packages and `.pohf/dev.env` are there. */
const makeReaderFolder = (dataDir: string | undefined): string => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-reader-'))
  for (const name of ['node_modules', 'docs', 'packages', 'tools', 'package.json'])
    symlinkSync(join(repositoryRoot, name), join(folder, name))
  if (dataDir !== undefined) symlinkSync(dataDir, join(folder, '.pohf'))
  return folder
}

/** Ends a page that hangs, and nothing else: a slow machine compiles a program of a page for minutes. */
const hangLimitMs = 900_000

/** Runs the blocks of a page as a reader does. Throws where one fails. */
export const runPage = async (page: string, options: RunOptions): Promise<PageResult> => {
  const { clone } = options
  const steps = planPage(page, options.ports).map((step) =>
    clone !== undefined && step.kind === 'no-run' ? { ...step, kind: 'run' as const } : step,
  )
  const session = mkdtempSync(join(tmpdir(), 'pohf-session-'))
  const folder = clone ?? makeReaderFolder(options.dataDir)
  writeSession(steps, session, folder, clone === undefined ? ['curl', 'npx'] : ['curl'])
  const child = startSession(session, folder, options.environment)
  const timer = setTimeout(() => stopGroup(child), options.timeoutMs ?? hangLimitMs)
  try {
    await once(child, 'exit')
    const fault = await findFault(steps, readFileSync(join(session, 'output.log'), 'utf8'), session)
    if (fault !== undefined) throw new Error(fault)
    const count = (...kinds: Step['kind'][]) => steps.filter(({ kind }) => kinds.includes(kind)).length
    return {
      run: count('run', 'terminal'),
      saved: count('save'),
      notRun: count('no-run'),
      times: readTimes(steps, session),
    }
  } finally {
    clearTimeout(timer)
    stopGroup(child)
    rmSync(session, { recursive: true, force: true })
    if (clone === undefined) rmSync(folder, { recursive: true, force: true })
  }
}
