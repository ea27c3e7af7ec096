/** The oldest major version of Node that the scripts run on. */
const oldestMajor = 20

// The first import of each script that a person starts: nothing of the others has run yet.
if (Number(process.versions.node.split(".")[0]) < oldestMajor) {
  process.stderr.write(
    `This needs Node ${oldestMajor} or newer, and it runs on ${process.versions.node}.\n` +
      "Install a newer one, such as Node 24 from https://nodejs.org, and run the command again.\n"
  )
  process.exit(1)
}
