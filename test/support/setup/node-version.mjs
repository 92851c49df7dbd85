// Imported first by every script, so that an old Node ends with this sentence and not with a syntax error.
const [major] = process.versions.node.split(".").map(Number);
if (major < 20) {
  process.stderr.write(
    `Lancelot needs Node 20 or newer to set itself up; this is Node ${process.versions.node}. Install a current Node: https://nodejs.org\n`,
  );
  process.exit(1);
}
