/** A checkout and the image run the sources, which include the server. The npm package is compiled and has none. */
const hasServer = import.meta.url.endsWith('.ts')

/** Ends the program with exit code 2 where the server is not installed. */
export const requireServer = (): void => {
  if (hasServer) return
  console.error(
    'This command needs the server, which is not part of the npm package. Run it in a checkout of the repository or in the container image.',
  )
  process.exit(2)
}
