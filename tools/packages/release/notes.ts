/** The section of a version in the changelog, or Unreleased where the version has none yet. */
export const notesOf = (changelog: string, version: string): string => {
  const sections = changelog.split(/^(?=## )/m)
  const found =
    sections.find((section) => section.startsWith(`## ${version}\n`)) ??
    sections.find((section) => section.startsWith('## Unreleased\n'))
  if (found === undefined) throw new Error(`the changelog has no section for ${version}`)
  return `# PoHF ${version}\n\n${found.slice(found.indexOf('\n')).trim()}\n`
}
