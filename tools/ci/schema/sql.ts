import { schemaOwners } from '../../../packages/server/test/architecture/schema-owners.ts'
import type { GeneratedFile } from '../pages/markdown.ts'
import {
  readCatalogue,
  type Catalogue,
  type Column,
  type Constraint,
  type Grant,
  type Policy,
  type Routine,
  type Table,
} from './catalogue.ts'

const widthMax = 128

/** The parts of an expression that are quoted, at odd places. */
const quotedParts = /('(?:[^']|'')*'|"[^"]*")/

/**
 * An expression of the catalogue as we write it: keywords in lower case, `in` and `between`, and no type behind a constant,
 * because its column has one.
 */
const readable = (expression: string): string =>
  expression
    .split(quotedParts)
    .map((part, place) => (place % 2 === 1 ? part : part.toLowerCase().replaceAll('public.', '')))
    .join('')
    .replaceAll('timestamp with time zone', 'timestamptz')
    .replaceAll(/'(\d+)'::(?:bigint|integer)\b/g, '$1')
    .replaceAll(/('(?:[^']|'')*')::(?:text|jsonb|regclass|bigint|integer|timestamptz)\b(?:\[\])?/g, '$1')
    .replaceAll(/(?:\((\d+(?:\.\d+)?)\)|\b(\d+(?:\.\d+)?))::double precision/g, '$1$2')
    .replaceAll(/= any \(array\[((?:(?:'[^']*'|\d+)(?:, )?)+)\]\)/g, 'in ($1)')
    .replaceAll(/<> all \(array\[((?:(?:'[^']*'|\d+)(?:, )?)+)\]\)/g, 'not in ($1)')
    .replaceAll(/(?<!\w)(\w+(?:\(\w+\))?) >= (\d+) and \1 <= (\d+)/g, '$1 between $2 and $3')

/** Puts parts into lines of at most `widthMax`; the second and later lines are indented. */
const linesOf = (parts: readonly string[], indent = '  '): string => {
  const lines = ['']
  for (const part of parts) {
    const line = `${lines.at(-1) ?? ''}${part}`
    if (lines.at(-1)?.endsWith(' ') && line.trimEnd().length > widthMax) lines.push(`${indent}${part}`)
    else lines[lines.length - 1] = line
  }
  return lines.map((line) => line.trimEnd()).join('\n')
}

/** Breaks a statement at blanks outside of quotes. */
const wrapped = (statement: string, indent?: string): string =>
  linesOf(
    statement
      .split(quotedParts)
      .flatMap((part, place) => (place % 2 === 1 ? [part] : part.split(/(?<=\S )(?!function )/))),
    indent,
  )

const columnLine = (column: Column, checks: readonly Constraint[]): string =>
  [
    column.name,
    readable(column.type),
    column.collation === null ? '' : `collate "${column.collation}"`,
    column.identity === ''
      ? ''
      : `generated ${column.identity === 'a' ? 'always' : 'by default'} as identity`,
    column.required ? 'not null' : '',
    column.value === null
      ? ''
      : column.generated === ''
        ? `default ${readable(column.value)}`
        : `generated always as (${readable(column.value)}) stored`,
    ...checks.map(constraintText),
  ]
    .filter((part) => part !== '')
    .join(' ')

/** The definition of a constraint, behind its name unless PostgreSQL chose that. */
const constraintText = ({ table_name, name, kind, column_name, definition }: Constraint): string => {
  const isDefault =
    name.startsWith(`${table_name}_`) &&
    (kind === 'c'
      ? new RegExp(`^${table_name}_${column_name === null ? '' : `${column_name}_`}check\\d*$`).test(name)
      : /_(pkey|key|fkey)\d*$/.test(name))
  return `${isDefault ? '' : `constraint ${name} `}${readable(definition)}`
}

/** The policies that `pohf_isolate` and `pohf_hide_from_agents` make. */
const usualPolicies: Readonly<Record<string, string>> = {
  "agent_id = pohf_tenant() or pohf_tenant() = 'system'": 'by agent_id',
  "pohf_tenant() = 'system'": 'hidden from agents',
}
const commands: Readonly<Record<string, string>> = { r: 'select', a: 'insert', w: 'update', d: 'delete' }

const policyText = ({ command, role, visible, writable }: Policy): string => {
  const limit = readable(visible ?? writable ?? 'true')
  const of = commands[command] === undefined ? '' : ` for ${commands[command] ?? ''}`
  if (role !== '' && limit === 'true') return `open to ${role}${of}`
  const rule = usualPolicies[limit] ?? `where ${limit}`
  return `${rule}${of}${role === '' ? '' : ` to ${role}`}`
}

const grantsText = (grants: readonly Grant[]): string[] =>
  [...Map.groupBy(grants, ({ role }) => role)].map(([role, given]) => {
    const privileges = given.map(({ privilege, columns }) =>
      columns === null ? privilege : `${privilege} (${columns})`,
    )
    return `${role} may ${privileges.join(', ')}`
  })

const partitionsText = ({ by_day, keep_months }: Table): string => {
  if (by_day) return 'partitions by day'
  return `partitions by month, ${keep_months === null ? 'never dropped' : `dropped after ${keep_months} months`}`
}

const tableText = (table: Table, catalogue: Catalogue): string => {
  const ofTable = <T extends { readonly table_name: string }>(rows: readonly T[]): T[] =>
    rows.filter(({ table_name }) => table_name === table.name)
  const constraints = ofTable(catalogue.constraints)
  const lines = [
    ...ofTable(catalogue.columns).map((column) =>
      columnLine(
        column,
        constraints.filter(({ column_name }) => column_name === column.name),
      ),
    ),
    ...constraints.filter(({ column_name }) => column_name === null).map(constraintText),
  ].map((line, place, all) => wrapped(`  ${line}${place === all.length - 1 ? '' : ','}`, '    '))
  const policies = ofTable(catalogue.policies).map(policyText)
  const notes = [
    ...(table.partition_key === null ? [] : [partitionsText(table)]),
    ...(policies.length === 0
      ? []
      : [`row-level security${table.secured ? '' : ' (not in force)'} ${policies.join(', ')}`]),
    ...grantsText(ofTable(catalogue.grants)),
  ]
  return [
    `create table ${table.name} (`,
    ...lines,
    [
      ')',
      ...(table.partition_key === null ? [] : [` partition by ${readable(table.partition_key)}`]),
      ...(table.options === null ? [] : [` with (${table.options})`]),
      ';',
    ].join(''),
    ...[...ofTable(catalogue.indexes), ...ofTable(catalogue.triggers)].map(({ definition }) =>
      wrapped(`${readable(definition).replace(' on only ', ' on ').replace(' using btree ', ' ')};`),
    ),
    ...notes.map((note) => wrapped(`-- ${note}`, '-- ')),
  ].join('\n')
}

const routineText = ({ definition, body, owner, executors }: Routine): string => {
  const header = body === null ? definition : definition.slice(0, definition.indexOf('\nAS $'))
  const notes = [
    ...(owner === null ? [] : [`owner ${owner}`]),
    ...(executors === null
      ? []
      : [
          executors.length === 0 ? 'only its owner may execute it' : `${executors.join(', ')} may execute it`,
        ]),
  ]
  const clauses = readable(header.trimEnd())
    .replace(/^create or replace /, 'create ')
    .split('\n')
  const statement = linesOf(
    clauses.flatMap((clause, place) => {
      const end = place < clauses.length - 1 ? ' ' : body === null ? ';' : ' as $$'
      // Parameters are many, and so may be the parts of an expression in place of a body.
      const isLong = place === 0 || (body === null && place === clauses.length - 1)
      const line = `${clause.trim()}${end}`
      return isLong ? line.split(/(?<=, )/) : [line]
    }),
  )
  return [
    ...(notes.length === 0 ? [] : [`-- ${notes.join('; ')}`]),
    body === null ? statement : `${statement}${body}$$;`,
  ].join('\n')
}

const headerOf = (module: string): string =>
  wrapped(
    `-- The tables, types and functions of \`${module}\` after all migrations, to be read and not run. Written by npm run generate from the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line above it says which may.`,
    '-- ',
  )

/** A file for each module that owns something of the schema, with everything that it owns. */
export const schemaSqlFiles = async (url: string): Promise<GeneratedFile[]> => {
  const catalogue = await readCatalogue(url)
  const ownerOf = schemaOwners(catalogue.tables.map(({ name }) => name))
  const statements = [
    ...catalogue.sequences.map(({ name }) => ({
      module: ownerOf('sequence', name),
      text: `create sequence ${name};`,
    })),
    ...catalogue.tables.map((table) => ({
      module: ownerOf('table', table.name),
      text: tableText(table, catalogue),
    })),
    ...catalogue.types.map(({ name, fields }) => ({
      module: ownerOf('type', name),
      text: wrapped(`create type ${name} as (${readable(fields)});`),
    })),
    ...catalogue.routines.map((routine) => ({
      module: ownerOf('function', routine.name),
      text: routineText(routine),
    })),
  ]
  return [...Map.groupBy(statements, ({ module }) => module)].map(([module, of]) => [
    `packages/server/src/${module === 'platform' ? 'platform/db' : module}/schema.sql`,
    `${[headerOf(module), ...of.map(({ text }) => text)].join('\n\n')}\n`,
  ])
}
