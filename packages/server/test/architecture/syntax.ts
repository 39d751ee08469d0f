import { createVirtualFileSystem } from 'typescript/unstable/fs'
import { API } from 'typescript/unstable/sync'
import type { Node, SourceFile } from 'typescript/unstable/ast'
import {
  isBindingElement,
  isBlock,
  isCatchClause,
  isForOfStatement,
  isForStatement,
  isFunctionLikeDeclaration,
  isIdentifier,
  isVariableDeclaration,
  isVariableStatement,
} from 'typescript/unstable/ast/is'

export type { Node }
export type ParsedFile = { readonly path: string; readonly tree: SourceFile }

const folder = '/sources'

/** Parses sources with the TypeScript parser and hands the trees to `use`. Imports are not resolved. */
export const withParsedFiles = <T>(
  files: readonly { readonly path: string; readonly text: string }[],
  use: (parsed: readonly ParsedFile[]) => T,
): T => {
  const config = {
    compilerOptions: { noLib: true, noResolve: true, types: [] },
    files: files.map(({ path }) => path),
  }
  const texts = files.map(({ path, text }) => [`${folder}/${path}`, text])
  const api = new API({
    cwd: folder,
    fs: createVirtualFileSystem({
      ...Object.fromEntries(texts),
      [`${folder}/tsconfig.json`]: JSON.stringify(config),
    }),
  })
  try {
    const [project] = api.updateSnapshot({ openProjects: [`${folder}/tsconfig.json`] }).getProjects()
    return use(
      files.map(({ path }) => {
        const tree = project?.program.getSourceFile(`${folder}/${path}`)
        if (!tree) throw new Error(`${path} was not parsed`)
        return { path, tree }
      }),
    )
  } finally {
    api.close()
  }
}

/** `root` and every node below it, parents first. */
export const nodesOf = (root: Node): Node[] => {
  const found: Node[] = []
  const visit = (node: Node): void => {
    found.push(node)
    node.forEachChild(visit)
  }
  visit(root)
  return found
}

/** The nodes around a node, nearest first. */
export const ancestorsOf = (node: Node): Node[] => {
  const found: Node[] = []
  for (let at: Node | undefined = node.parent; at; at = at.parent) found.push(at)
  return found
}

export const lineOf = ({ tree }: ParsedFile, node: Node): number =>
  tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1

/** The names that a parameter or a declaration binds, those of a destructuring pattern included. */
const boundNamesOf = (name: Node): string[] =>
  isIdentifier(name)
    ? [name.text]
    : nodesOf(name)
        .filter(isBindingElement)
        .flatMap((element) => (element.name && isIdentifier(element.name) ? [element.name.text] : []))

/** The names that a declaration list binds; not those of functions in its initializers. */
const listedNamesOf = (list: Node): string[] => {
  const names: string[] = []
  list.forEachChild((node) => {
    if (isVariableDeclaration(node)) names.push(...boundNamesOf(node.name))
  })
  return names
}

const declaredNamesOf = (scope: Node, before: Node): string[] => {
  if (isBlock(scope))
    return scope.statements
      .filter(isVariableStatement)
      .filter((statement) => statement.end <= before.pos)
      .flatMap((statement) => listedNamesOf(statement.declarationList))
  if (isCatchClause(scope)) return listedNamesOf(scope)
  const isLoop = isForOfStatement(scope) || isForStatement(scope)
  return isLoop && scope.initializer ? listedNamesOf(scope.initializer) : []
}

/** The parameters and local variables that a node can use: those of every function around it, none of the module. */
export const variablesInScope = (node: Node): ReadonlySet<string> => {
  const around = ancestorsOf(node)
  const outermost = around.findLastIndex(isFunctionLikeDeclaration)
  return new Set(
    around
      .slice(0, outermost + 1)
      .flatMap((scope) =>
        isFunctionLikeDeclaration(scope)
          ? scope.parameters.flatMap(({ name }) => boundNamesOf(name))
          : declaredNamesOf(scope, node),
      ),
  )
}
