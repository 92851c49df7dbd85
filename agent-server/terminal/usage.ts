export const usageText = `Lancelot: an engineer that asks before it acts, and keeps receipts.

  lancelot chat "task"           do a task here: streamed, diffs shown before they are written
      --workspace DIR            the folder to work in (this one)
      --yes-tier T0|T1|T2|T3     approve up to this tier without asking
      --quest ID                 go on with an earlier task
      --json                     print events as JSON lines, ask nothing
      --download                 fetch the local model if nothing else can answer
  lancelot call METHOD '{…}'     one method of the contract; owner methods need LANCELOT_OWNER_TOKEN
  lancelot serve --port 0        HTTP and WebSocket gateway on loopback
  lancelot repl "COMMAND"        ls, cat, grep, find, cp or mv here: no shell, judged, recorded
  lancelot receipts verify [F [K]]  check the ledger, or the exported one in file F (signed by key K)
  lancelot receipts export [ledger|receipts]  write it to exports/ of the data folder
  lancelot soul status           the soul in force, its versions, what waits
  lancelot soul lint FILE        check a soul; exit 1 when it could not be activated
  lancelot soul diff [V1] [V2]   what changed between versions; or soul diff PROPOSAL
  lancelot memory [status]       what is remembered here; also core, search WORDS, contexts, compile "TASK"
  lancelot memory remember "…"   keep something in your words; forget "…" takes it away
  lancelot memory commits        what changed; rollback ID or rollback --last N takes it back
  lancelot memory quarantine     what waits for you; promote ID or deny ID
  lancelot memory export [markdown|jsonl]  to exports/ of the data folder; backup holds everything
  lancelot memory import FILE    merge an export or a memory.jsonl; --replace, --dry-run
  lancelot memory jobs           the maintenance; run JOB runs one now
  lancelot policy explain "CMD"  what the policy makes of a command, and why
      --cwd DIR                  the folder it would run in (the workspace)
  lancelot models [download]     what can answer; fetch the local model
  lancelot models choose P [M]   make provider P (and model M) the active one
  lancelot usage [DAYS]          what models used and cost: by lane, model, task
  lancelot usage cap task|day A  stop before task or day costs more than A dollars; none takes it away
  lancelot key set NAME          store a key (read from the terminal or standard input)
  lancelot key list | delete NAME

  --data DIR                     data folder (LANCELOT_DATA, else the platform's place)

Keys: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, XAI_API_KEY in the environment, or stored with key set.
`;
