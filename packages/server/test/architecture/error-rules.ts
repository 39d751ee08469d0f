import {
  isBinaryExpression,
  isCallExpression,
  isCatchClause,
  isClassDeclaration,
  isConditionalExpression,
  isConstructorDeclaration,
  isFunctionLikeDeclaration,
  isIdentifier,
  isIfStatement,
  isNewExpression,
  isNoSubstitutionTemplateLiteral,
  isObjectLiteralExpression,
  isParenthesizedExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  isStringLiteral,
} from 'typescript/unstable/ast/is'
import type { CallExpression, ClassDeclaration, NewExpression } from 'typescript/unstable/ast'
import {
  ancestorsOf,
  lineOf,
  nodesOf,
  variablesInScope,
  withParsedFiles,
  type Node,
  type ParsedFile,
} from './syntax.ts'

const errorRules = {
  constant: 'an internal error has a constant message: name the operation, the ids and the state',
  id: 'an internal error does not name an id that is in scope',
  cause: 'an error that replaces a caught error does not keep it as its cause',
  row: 'executeTakeFirstOrThrow() throws "no result": pass an error that names the row',
  message: 'the message of a log call is not a constant string: pass variables as fields',
  fields: 'a warning or an error is logged without fields',
} as const
export type ErrorRule = keyof typeof errorRules

export type ErrorFault = {
  readonly path: string
  readonly line: number
  readonly rule: ErrorRule
  readonly text: string
}
export type ErrorSurvey = {
  readonly errors: number
  readonly logCalls: number
  readonly faults: readonly ErrorFault[]
}

/** Errors that answer a caller or the operator who starts the server: their texts are not for a log. */
const answers: ReadonlySet<string> = new Set(['Refusal', 'JsonRpcError', 'EvidenceError', 'ConfigFaults'])
const builtInErrors = ['Error', 'TypeError', 'RangeError', 'AggregateError']

const idName = /^(id|key|kid|jti|ref|reference|address)$|(Id|Key|Kid|Jti|Ref|Reference|Address)$/
/** Material that must not be in a message. */
const secretName = /(private|public|secret|api|master|signing|idempotency|operator)Key$/i
/** A message that names a setting says what it is about. */
const settingName = /\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/
const severeMethods: ReadonlySet<string> = new Set(['warn', 'error', 'fatal'])
const logMethods: ReadonlySet<string> = new Set([...severeMethods, 'info', 'debug', 'trace'])

const isErrorClass = (node: Node): node is ClassDeclaration =>
  isClassDeclaration(node) &&
  node.heritageClauses?.some(({ types }) =>
    types.some(({ expression }) => isIdentifier(expression) && builtInErrors.includes(expression.text)),
  ) === true &&
  !answers.has(node.name?.text ?? '')

/** Whether the first argument of `new` is the message: there is no constructor, or its first parameter says so. */
const takesMessage = (node: ClassDeclaration): boolean => {
  const constructor = node.members.find(isConstructorDeclaration)
  const [first] = constructor?.parameters ?? []
  return !constructor || (first !== undefined && isIdentifier(first.name) && first.name.text === 'message')
}

/** The names of the classes of internal errors, and whether each takes a message. */
type ErrorClasses = ReadonlyMap<string, boolean>
const errorClassesOf = (files: readonly ParsedFile[]): ErrorClasses =>
  new Map([
    ...builtInErrors.map((name) => [name, true] as const),
    ...files
      .flatMap(({ tree }) => nodesOf(tree).filter(isErrorClass))
      .map((node) => [node.name?.text ?? '', takesMessage(node)] as const),
  ])

/** Whether an expression consists of literals: `'a'`, `'a' + 'b'`, `known ? 'a' : 'b'`. */
const isConstantText = (node: Node): boolean => {
  if (isParenthesizedExpression(node)) return isConstantText(node.expression)
  if (isConditionalExpression(node)) return isConstantText(node.whenTrue) && isConstantText(node.whenFalse)
  if (isBinaryExpression(node)) return isConstantText(node.left) && isConstantText(node.right)
  return isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)
}

/** Variables that the conditions around a node test for absence: `if (!key) throw …` cannot name the key. */
const absentVariablesOf = (node: Node): ReadonlySet<string> =>
  new Set(
    ancestorsOf(node)
      .filter(isIfStatement)
      .flatMap(({ expression }) => nodesOf(expression))
      .flatMap((part) => {
        if (isPrefixUnaryExpression(part)) return [part.operand]
        return isBinaryExpression(part) && isIdentifier(part.right) && part.right.text === 'undefined'
          ? [part.left]
          : []
      })
      .filter(isIdentifier)
      .map(({ text }) => text),
  )

const messageRuleOf = (
  { tree }: ParsedFile,
  error: Node,
  message: Node | undefined,
): ErrorRule | undefined => {
  if (!message) return 'constant'
  if (isConstantText(message)) return settingName.test(message.getText(tree)) ? undefined : 'constant'
  const names = nodesOf(message).filter(isIdentifier)
  if (names.some(({ text }) => idName.test(text))) return undefined
  const absent = absentVariablesOf(error)
  const ids = [...variablesInScope(error)].filter(
    (name) => idName.test(name) && !secretName.test(name) && !absent.has(name),
  )
  return ids.length > 0 ? 'id' : undefined
}

const keepsCause = (error: NewExpression): boolean => {
  const parameters: readonly Node[] = error.arguments ?? []
  return parameters
    .filter(isObjectLiteralExpression)
    .flatMap(({ properties }) => [...properties])
    .some(
      (property) =>
        (isPropertyAssignment(property) || isShorthandPropertyAssignment(property)) &&
        isIdentifier(property.name) &&
        property.name.text === 'cause',
    )
}

const isCatchCallback = (node: Node): boolean =>
  isFunctionLikeDeclaration(node) &&
  isCallExpression(node.parent) &&
  isPropertyAccessExpression(node.parent.expression) &&
  node.parent.expression.name.text === 'catch'

const replacesCaughtError = (error: Node): boolean =>
  ancestorsOf(error).some((node) => isCatchClause(node) || isCatchCallback(node))

/** The rules that one construction of an error breaks; undefined where the node constructs no internal error. */
const errorFaultsOf = (file: ParsedFile, node: Node, classes: ErrorClasses): ErrorRule[] | undefined => {
  if (isCallExpression(node) && node.expression.getText(file.tree) === 'super') {
    if (!ancestorsOf(node).some(isErrorClass)) return undefined
    const rule = messageRuleOf(file, node, node.arguments[0])
    return rule ? [rule] : []
  }
  if (!isNewExpression(node) || !isIdentifier(node.expression)) return undefined
  const hasMessage = classes.get(node.expression.text)
  if (hasMessage === undefined) return undefined
  const rule = hasMessage ? messageRuleOf(file, node, node.arguments?.[0]) : undefined
  return [
    ...(rule ? [rule] : []),
    ...(replacesCaughtError(node) && !keepsCause(node) ? (['cause'] as const) : []),
  ]
}

/** The method of a call such as `ctx.log.warn(…)`; undefined for every other call. */
const logMethodOf = (node: Node): string | undefined => {
  if (!isCallExpression(node) || !isPropertyAccessExpression(node.expression)) return undefined
  const { expression: logger, name } = node.expression
  const loggerName = isPropertyAccessExpression(logger)
    ? logger.name.text
    : isIdentifier(logger)
      ? logger.text
      : ''
  return /^log(ger)?$/.test(loggerName) && logMethods.has(name.text) ? name.text : undefined
}

const logFaultsOf = (call: CallExpression, method: string): ErrorRule[] => {
  const [first, second] = call.arguments
  const hasFields = first !== undefined && isObjectLiteralExpression(first) && first.properties.length > 0
  const message = second ?? first
  const isConstant = message && (isStringLiteral(message) || isNoSubstitutionTemplateLiteral(message))
  return [
    ...(isConstant ? [] : (['message'] as const)),
    ...(hasFields || !severeMethods.has(method) ? [] : (['fields'] as const)),
  ]
}

/** Statements that always return a row: a count or a sum without groups, a select without a table, a plain insert. */
const alwaysReturnsRow = (statement: string): boolean =>
  (/\b(count|countAll|sum)(<\w+>)?\(|selectNoFrom/.test(statement) && !statement.includes('groupBy')) ||
  (statement.includes('insertInto') && !statement.includes('onConflict'))
const lacksRowError = ({ tree }: ParsedFile, node: Node): boolean =>
  isCallExpression(node) &&
  isPropertyAccessExpression(node.expression) &&
  node.expression.name.text === 'executeTakeFirstOrThrow' &&
  node.arguments.length === 0 &&
  !alwaysReturnsRow(node.expression.getText(tree))

const surveyFile = (file: ParsedFile, classes: ErrorClasses): ErrorSurvey => {
  const faults: ErrorFault[] = []
  let errors = 0
  let logCalls = 0
  for (const node of nodesOf(file.tree)) {
    const broken = errorFaultsOf(file, node, classes)
    if (broken) errors += 1
    const method = logMethodOf(node)
    if (method !== undefined) logCalls += 1
    const rules = [
      ...(broken ?? []),
      ...(method !== undefined && isCallExpression(node) ? logFaultsOf(node, method) : []),
      ...(lacksRowError(file, node) ? (['row'] as const) : []),
    ]
    const text = rules.length > 0 ? node.getText(file.tree).replaceAll(/\s+/g, ' ') : ''
    for (const rule of rules) faults.push({ path: file.path, line: lineOf(file, node), rule, text })
  }
  return { errors, logCalls, faults }
}

/** Faults that are meant. Each names a part of its text, so that it excuses nothing else in that file. */
const exceptions: readonly (Pick<ErrorFault, 'path' | 'rule' | 'text'> & {
  readonly reason: string
})[] = [
  {
    path: 'platform/db/db.ts',
    rule: 'constant',
    text: 'select pohf_now() returned no row',
    reason: 'the statement has no argument and concerns no object',
  },
  {
    path: 'credentials/mint/purchase.ts',
    rule: 'constant',
    text: 'WorkEvidenceMissing',
    reason: 'the buyer reads it as the reason of the refund, and the session belongs to another agent',
  },
]

const isException = (fault: ErrorFault): boolean =>
  exceptions.some(
    ({ path, rule, text }) => path === fault.path && rule === fault.rule && fault.text.includes(text),
  )

/** The faults to mend, one line each. */
export const reportFaults = (faults: readonly ErrorFault[]): string[] =>
  faults
    .filter((fault) => !isException(fault))
    .map(({ path, line, rule, text }) => `${path}:${line}: ${errorRules[rule]}: ${text}`)

/** Exceptions that excuse nothing any more. */
export const unusedExceptions = (faults: readonly ErrorFault[]): string[] =>
  exceptions
    .filter(
      ({ path, rule, text }) =>
        !faults.some((fault) => fault.path === path && fault.rule === rule && fault.text.includes(text)),
    )
    .map(({ path, text }) => `${path}: ${text}`)

/** Reads every internal error and every log call of these sources. */
export const surveyErrors = (
  files: readonly { readonly path: string; readonly text: string }[],
): ErrorSurvey =>
  withParsedFiles(files, (parsed) => {
    const classes = errorClassesOf(parsed)
    const surveys = parsed.map((file) => surveyFile(file, classes))
    return {
      errors: surveys.reduce((sum, { errors }) => sum + errors, 0),
      logCalls: surveys.reduce((sum, { logCalls }) => sum + logCalls, 0),
      faults: surveys.flatMap(({ faults }) => faults),
    }
  })
