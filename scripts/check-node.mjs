// Every npm script runs on the Node that the npm package `node` brings. This says so in one line
// when a script finds itself on an older one (an install that skipped that package's script).
const wanted = 24
const found = Number(process.versions.node.split('.')[0])
if (found < wanted) {
  console.error(
    `Priorbook needs Node ${wanted}, this is ${process.versions.node}: run "npm install-scripts approve node && npm install", then use the npm scripts or npx.`,
  )
  process.exit(1)
}
