import { render } from "preact";
import { createBridge } from "../shared/bridge.ts";
import { createConversation } from "../shared/conversation.ts";
import { startPage } from "../shared/start-page.ts";
import { createStore } from "../shared/store.ts";
import { createViewState } from "../shared/view-state.ts";
import { App } from "./chat-app.tsx";
import { createChat, emptyChat, SavedChat } from "./chat-state.ts";
import "../shared/shared.css";
import "../shared/terminal/terminal.css";
import "./chat.css";

const { api, root } = startPage();
const bridge = createBridge(api);
const store = createStore(bridge);
const conversation = createConversation(bridge, store);
const chat = createChat(bridge, store, conversation, createViewState(api, SavedChat, emptyChat));
render(<App chat={chat} />, root);
bridge.ready();
